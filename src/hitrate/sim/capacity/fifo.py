"""First in, first out: the block that was put in longest ago goes, used or not."""

from __future__ import annotations

from array import array
from itertools import pairwise, takewhile

from hitrate.core.trace import Chunk
from hitrate.sim.capacity.interface import SteppedCache


class Fifo(SteppedCache):
    def __init__(self, capacity: int | None) -> None:
        self.capacity = capacity
        self._blocks: set[int] = set()
        self._order: list[int] = []
        self._oldest = 0
        """Its place in `_order`; what is in front of it is gone."""

    def serve(self, asked: array[int], input_tokens: int, now: float) -> int:
        blocks, order = self._blocks, self._order
        capacity = self.capacity
        if capacity == 0:
            return 0
        hits = self.peek(asked, input_tokens, now)
        for block in asked:
            if block not in blocks:
                if capacity is not None and len(blocks) >= capacity:
                    blocks.remove(order[self._oldest])
                    self._oldest += 1
                blocks.add(block)
                order.append(block)
        if self._oldest > len(blocks) + 1_000_000:
            del order[: self._oldest]
            self._oldest = 0
        return hits

    def peek(self, asked: array[int], input_tokens: int, now: float) -> int:
        return sum(1 for _ in takewhile(self._blocks.__contains__, asked))

    def check_integrity(self) -> None:
        assert self.capacity is None or len(self._blocks) <= self.capacity, "more blocks than the capacity"
        assert set(self._order[self._oldest :]) == self._blocks, "the order is not that of the blocks"
        assert len(self._order) - self._oldest == len(self._blocks), "a block is twice in the order"


class FifoInTurn:
    """Counts every block when it is its turn, those behind a miss too, as `block_lru` does in turn."""

    def __init__(self, capacity: int | None) -> None:
        self.capacity = capacity
        self._fifo = Fifo(capacity)

    def add(self, chunk: Chunk) -> list[int]:
        """Per request, its blocks that were there: each served like a request of its own."""
        ids, serve = chunk.ids, self._fifo.serve
        return [
            sum(serve(ids[place : place + 1], 1, 0.0) for place in range(start, end))
            for start, end in pairwise(chunk.starts)
        ]

    def check_integrity(self) -> None:
        self._fifo.check_integrity()
