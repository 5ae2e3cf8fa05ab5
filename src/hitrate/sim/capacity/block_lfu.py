"""Least frequently used, block by block; of equally frequent ones the one whose last use is longest ago.

Uses are counted while a block is in the cache, and forgotten with it. Blocks are looked up as in `block_lru`.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import pairwise

from hitrate.core.trace import Chunk


class BlockLfu:
    def __init__(self, capacity: int | None, *, in_turn: bool = False) -> None:
        self.capacity = capacity
        self._in_turn = in_turn
        self._uses: dict[int, int] = {}
        self._alike: dict[int, OrderedDict[int, None]] = {}
        """Blocks by their number of uses, the one to evict next in front."""
        self._fewest = 1

    def add(self, chunk: Chunk) -> list[int]:
        """Per request, its blocks that were there."""
        served = []
        for start, end in pairwise(chunk.starts):
            asked = chunk.ids[start:end]
            together = sum(map(self._uses.__contains__, asked))
            in_turn = sum(map(self._use, asked))
            served.append(in_turn if self._in_turn else together)
        return served

    def _use(self, block: int) -> bool:
        uses = self._uses.get(block, 0)
        if uses:
            alike = self._alike[uses]
            del alike[block]
            if not alike:
                del self._alike[uses]
                if uses == self._fewest:
                    self._fewest = uses + 1
        elif self.capacity == 0:
            return False
        else:
            if self.capacity is not None and len(self._uses) >= self.capacity:
                self._evict()
            self._fewest = 1
        self._uses[block] = uses + 1
        self._alike.setdefault(uses + 1, OrderedDict())[block] = None
        return uses > 0

    def _evict(self) -> None:
        alike = self._alike[self._fewest]
        block, _ = alike.popitem(False)
        del self._uses[block]
        if not alike:
            del self._alike[self._fewest]

    def check_integrity(self) -> None:
        assert self.capacity is None or len(self._uses) <= self.capacity, "more blocks than the capacity"
        assert sum(map(len, self._alike.values())) == len(self._uses), "a block is in no list, or in two"
        assert all(self._uses[block] == uses for uses, alike in self._alike.items() for block in alike), (
            "a block is in the list of another number of uses"
        )
        assert not self._uses or self._fewest == min(self._alike), "the fewest uses are not known"
