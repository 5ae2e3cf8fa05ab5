"""What no rule can beat: evicts the block whose next use is furthest away (Belady, A study of replacement algorithms
for a virtual-storage computer, IBM Systems Journal 5(2), 1966), leaves first, and puts in nothing needed later than all
it would have to evict.

It knows the future, so it takes the whole trace at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import pairwise, takewhile

from hitrate.core.trace import UNKNOWN, Chunk


class Optimal:
    def __init__(self, capacity: int | None) -> None:
        self.capacity = capacity
        self._next_use: dict[int, int] = {}
        """Of each block in the cache, the number of the request that uses it next."""
        self._behind: dict[int, int] = {}
        """How many blocks in the cache stand directly behind one in the cache."""
        self._in_front: dict[int, int] = {}
        self._leaves: list[tuple[int, int]] = []
        """(-next use, -block) of leaves; also of what is none any more or has another next use by now."""

    def add(self, chunk: Chunk) -> list[int]:
        """Per request, its leading blocks that were there. The chunk has to be the whole trace."""
        assert not self._next_use, "the whole trace has to come in one chunk"
        following = _next_uses(chunk)
        served = []
        for start, end in pairwise(chunk.starts):
            asked = chunk.ids[start:end]
            hits = sum(1 for _ in takewhile(self._next_use.__contains__, asked))
            served.append(hits)
            for place in range(hits):
                self._next_use[asked[place]] = following[start + place]
            if hits:
                self._offer(asked[hits - 1])
            self._put_in(asked, hits, following[start:end])
        return served

    def _put_in(self, asked: Sequence[int], hits: int, following: Sequence[int]) -> None:
        path = set(asked)
        for place in range(hits, len(asked)):
            block = asked[place]
            full = self.capacity is not None and len(self._next_use) >= self.capacity
            if full and not self._evict(following[place], path):
                return
            self._next_use[block] = following[place]
            self._behind[block] = 0
            if place:
                self._in_front[block] = asked[place - 1]
                self._behind[asked[place - 1]] += 1
            self._offer(block)

    def _offer(self, block: int) -> None:
        if not self._behind[block]:
            heappush(self._leaves, (-self._next_use[block], -block))

    def _evict(self, needed_at: int, path: set[int]) -> bool:
        """Make room for a block that is needed at that request; False where all others are needed no later."""
        spared = []
        found = False
        while self._leaves and not found:
            entry = heappop(self._leaves)
            moment, block = -entry[0], -entry[1]
            if self._next_use.get(block) != moment or self._behind[block]:
                continue
            if block in path:
                spared.append(entry)
            elif moment <= needed_at:
                spared.append(entry)
                break
            else:
                self._remove(block)
                found = True
        for entry in spared:
            heappush(self._leaves, entry)
        return found

    def _remove(self, block: int) -> None:
        del self._next_use[block], self._behind[block]
        front = self._in_front.pop(block, UNKNOWN)
        if front != UNKNOWN:
            self._behind[front] -= 1
            self._offer(front)

    def check_integrity(self) -> None:
        assert self.capacity is None or len(self._next_use) <= self.capacity, "more blocks than the capacity"
        counts = dict.fromkeys(self._next_use, 0)
        for block, front in self._in_front.items():
            assert block in counts, f"block {block} is gone and still stands behind another"
            assert front in counts, f"block {front} went before block {block}, which stands behind it"
            counts[front] += 1
        assert counts == self._behind, "the blocks behind others are miscounted"


def _next_uses(chunk: Chunk) -> list[int]:
    """Per block of each request, the next request with it; for none, a number above all."""
    never = len(chunk.starts)
    following = [never] * len(chunk.ids)
    soonest: dict[int, int] = {}
    for request in range(len(chunk.starts) - 2, -1, -1):
        start, end = chunk.starts[request], chunk.starts[request + 1]
        for place in range(start, end):
            following[place] = soonest.get(chunk.ids[place], never)
        soonest.update(dict.fromkeys(chunk.ids[start:end], request))
    return following
