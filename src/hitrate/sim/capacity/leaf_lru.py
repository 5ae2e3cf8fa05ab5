"""Least recently used, leaves first: a block goes before the block it stands behind, as in the radix caches of engines.

That is plain LRU with each request's blocks used from the last to the first: a block is then always more recent than
what stands behind it.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict, deque
from functools import partial
from itertools import takewhile
from math import inf
from typing import TypeVar

from hitrate.sim.capacity.interface import SteppedCache

Block = TypeVar("Block")


class LeafLru(SteppedCache):
    """`ttl_s`: a block that no request used for longer is gone."""

    def __init__(self, capacity: int | None, *, ttl_s: float | None = None) -> None:
        self.capacity = capacity
        self._ttl_s = ttl_s
        self._recent: OrderedDict[int, float] = OrderedDict()
        """Blocks with the time of their last use, the one to evict next in front."""

    def serve(self, asked: array[int], input_tokens: int, now: float) -> int:
        recent = self._recent
        if self._ttl_s is not None:
            drop_unused(recent, now - self._ttl_s)
        hits = sum(1 for _ in takewhile(recent.__contains__, asked))
        backwards = asked[::-1]
        recent.update(dict.fromkeys(backwards, now))
        deque(map(recent.move_to_end, backwards), 0)
        if self.capacity is not None:
            for _ in range(len(recent) - self.capacity):
                recent.popitem(False)
        return hits

    def peek(self, asked: array[int], input_tokens: int, now: float) -> int:
        held = self._recent.__contains__ if self._ttl_s is None else partial(self._used_since, now - self._ttl_s)
        hits = 0
        for block in asked:
            if not held(block):
                break
            hits += 1
        return hits

    def _used_since(self, since: float, block: int) -> bool:
        return self._recent.get(block, -inf) >= since

    def check_integrity(self) -> None:
        assert self.capacity is None or len(self._recent) <= self.capacity, "more blocks than the capacity"


class LeafLruInTurn(LeafLru):
    """The same, a prompt's blocks put in one by one from the first on: of a prompt longer than the cache the block that
    went in last is evicted for the next, which then has nothing to stand behind. So one block less stays of it, as in
    kvcache-simulator 0.1.3 (kvcache_sim/policies.py)."""

    def serve(self, asked: array[int], input_tokens: int, now: float) -> int:
        held = self.peek(asked, input_tokens, now)
        hits = super().serve(asked, input_tokens, now)
        if self.capacity is not None and held < self.capacity < len(asked):
            self._recent.popitem(False)
        return hits


def drop_unused(recent: OrderedDict[Block, float], since: float) -> None:
    """Blocks last used before that moment; they stand in front."""
    while recent and next(iter(recent.values())) < since:
        recent.popitem(False)
