"""Least recently used, leaves first: a block goes before the block it stands behind, as in the radix caches of engines.

That is plain LRU with each request's blocks used from the last to the first: a block is then always more recent than
what stands behind it.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from itertools import pairwise, takewhile

from hitrate.core.trace import Chunk


class LeafLru:
    def __init__(self, capacity: int | None) -> None:
        self.capacity = capacity
        self._recent: OrderedDict[int, None] = OrderedDict()
        """The block to evict next in front."""

    def add(self, chunk: Chunk) -> list[int]:
        recent = self._recent
        contains, to_end, evict = recent.__contains__, recent.move_to_end, recent.popitem
        served = []
        for start, end in pairwise(chunk.starts):
            backwards = chunk.ids[start:end]
            served.append(sum(1 for _ in takewhile(contains, backwards)))
            backwards.reverse()
            recent.update(dict.fromkeys(backwards))
            deque(map(to_end, backwards), 0)
            if self.capacity is not None:
                for _ in range(len(recent) - self.capacity):
                    evict(False)
        return served

    def check_integrity(self) -> None:
        assert self.capacity is None or len(self._recent) <= self.capacity, "more blocks than the capacity"
