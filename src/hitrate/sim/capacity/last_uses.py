"""The moments at which blocks were last used, and how many of them lie at or behind any one.

Requests use their blocks at consecutive moments and come back to them from the front, so moments are set and cleared
by runs: a flag for each, in pages, and a Fenwick tree over the sums of the pages.
"""

from __future__ import annotations

from array import array
from itertools import accumulate

_PAGE_BITS = 9
_SMALLEST = 1 << 18
"""Moments that there is room for at first."""


class LastUses:
    """Moments count from 1; none is set at first. `set` and `clear` take runs of moments, [first, end)."""

    def __init__(self) -> None:
        self.count = 0
        self._make_room(_SMALLEST)

    @property
    def room(self) -> int:
        """Moments from this one on cannot be set."""
        return len(self._flags)

    def set(self, first: int, end: int) -> None:
        """None of them may be set."""
        self._flags[first:end] = b"\x01" * (end - first)
        self._add(first, end, 1)

    def clear(self, first: int, end: int) -> None:
        """All of them have to be set."""
        self._flags[first:end] = bytes(end - first)
        self._add(first, end, -1)

    def count_from(self, moment: int) -> int:
        """How many at this moment and later are set."""
        place = (moment >> _PAGE_BITS) + 1
        count = self.count + self._flags.count(1, moment, place << _PAGE_BITS)
        tree = self._pages
        while place:
            count -= tree[place]
            place &= place - 1
        return count

    def renumber(self, moments: array[int], more: int) -> array[int]:
        """The same moments, counted anew from 1 without those not set, and room for so many more; 0 stays 0."""
        ranks = array("q", accumulate(self._flags))
        renumbered = array("q", map(ranks.__getitem__, moments))
        count, self.count = self.count, 0
        self._make_room(max(_SMALLEST, 2 * (count + more)))
        if count:
            self.set(1, count + 1)
        return renumbered

    def _make_room(self, moments: int) -> None:
        pages = (moments >> _PAGE_BITS) + 1
        self._flags = bytearray(pages << _PAGE_BITS)
        self._pages = [0] * (pages + 1)
        """Node i sums the i & -i pages up to the i-th."""

    def _add(self, first: int, end: int, sign: int) -> None:
        self.count += sign * (end - first)
        tree, size = self._pages, len(self._pages)
        while first < end:
            place = (first >> _PAGE_BITS) + 1
            until = min(end, place << _PAGE_BITS)
            change = sign * (until - first)
            first = until
            while place < size:
                tree[place] += change
                place += place & -place
