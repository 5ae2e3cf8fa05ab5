"""Least recently used, block by block, whatever stands behind what: what caches for objects of one size do.

Counts blocks wherever they stand in a request. Looked up together, when it comes; or `in_turn`, where putting in one
block may evict another of the same request before that is looked up, as simulators of object caches do.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import pairwise

from hitrate.core.trace import Chunk


class BlockLru:
    def __init__(self, capacity: int | None, *, in_turn: bool = False) -> None:
        self.capacity = capacity
        self._in_turn = in_turn
        self._recent: OrderedDict[int, None] = OrderedDict()
        """The block to evict next in front."""

    def add(self, chunk: Chunk) -> list[int]:
        """Per request, its blocks that were there."""
        served = []
        for start, end in pairwise(chunk.starts):
            asked = chunk.ids[start:end]
            together = sum(map(self._recent.__contains__, asked))
            in_turn = sum(map(self._use, asked))
            served.append(in_turn if self._in_turn else together)
        return served

    def _use(self, block: int) -> bool:
        recent = self._recent
        if block in recent:
            recent.move_to_end(block)
            return True
        recent[block] = None
        if self.capacity is not None and len(recent) > self.capacity:
            recent.popitem(False)
        return False

    def check_integrity(self) -> None:
        assert self.capacity is None or len(self._recent) <= self.capacity, "more blocks than the capacity"
