"""Blocks that stand for themselves, named by all that stands in front of them too: what consecutive prefixes need."""

from __future__ import annotations

from array import array
from itertools import pairwise

from hitrate.core.trace import UNKNOWN, Chunk


class Chains:
    def __init__(self) -> None:
        self._numbers: dict[tuple[int, int], int] = {}

    def of(self, chunk: Chunk) -> Chunk:
        """The chunk with the numbers of its blocks, from 0, equal only where all in front is equal too."""
        numbers = self._numbers
        ids = array("q")
        for start, end in pairwise(chunk.starts):
            before = UNKNOWN
            for block in chunk.ids[start:end]:
                before = numbers.setdefault((before, block), len(numbers))
                ids.append(before)
        return chunk._replace(ids=ids)
