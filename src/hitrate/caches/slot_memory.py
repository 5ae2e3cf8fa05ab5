"""What a llama.cpp context has left of each slot's tokens where that is less than all: a window of them, or one state.

Written from llama.cpp's `src/llama-kv-cache.cpp` (`find_slot`, `apply_ubatch`, `seq_rm`, `state_write`, `state_read`),
`llama-kv-cache-iswa.cpp` and `llama-memory-recurrent.cpp`, October 2026. Positions count from 0; -1 is none.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Protocol

_PADDING = 256


class SlotMemory(Protocol):
    """One memory may hold several slots; every verb but the last names the slot it is about."""

    def lowest(self, slot: int) -> int: ...

    def highest(self, slot: int) -> int: ...

    def saved(self, slot: int) -> tuple[int, ...]:
        """The positions that a copy of the slot's state holds, in the order they are written."""
        ...

    def load(self, slot: int, positions: Sequence[int]) -> None:
        """Put such a copy in place of what the slot has."""
        ...

    def cut(self, slot: int, start: int) -> None:
        """Forget everything from position `start` on."""
        ...

    def compute(self, slot: int, start: int, end: int, micro_batch: int) -> None:
        """Add the positions from `start` up to `end`, `micro_batch` at a time."""
        ...

    def check_integrity(self) -> None: ...


def window_cells(window: int, micro_batch: int, context: int | None, sequences: int) -> int:
    """How many cells llama.cpp gives the layers with a sliding window; `sequences` share them."""
    wanted = window * sequences + micro_batch
    return -(-(wanted if context is None else min(context, wanted)) // _PADDING) * _PADDING


class WindowMemory:
    """The cells of the layers with a sliding window.

    A token out of its sequence's window keeps its cell until another needs one, so more than the window may be there;
    how much more depends on where the search for cells begins, which is why it is followed cell by cell.
    `cells` None has no limit.
    """

    def __init__(self, window: int, cells: int | None) -> None:
        self.window = window
        self.size = sys.maxsize if cells is None else cells
        self._cells: dict[int, tuple[int, int]] = {}
        """Cell → (slot, position)."""
        self._places: dict[int, dict[int, int]] = {}
        """Slot → position → cell; the positions are contiguous and in ascending order."""
        self._head = 0

    def lowest(self, slot: int) -> int:
        return next(iter(self._places.get(slot, ())), -1)

    def highest(self, slot: int) -> int:
        return next(reversed(self._places.get(slot, {})), -1)

    def saved(self, slot: int) -> tuple[int, ...]:
        seen_from = self.highest(slot)
        inside = {at: place for at, place in self._places.get(slot, {}).items() if seen_from - at < self.window}
        return tuple(sorted(inside, key=inside.__getitem__))

    def load(self, slot: int, positions: Sequence[int]) -> None:
        self.cut(slot, 0)
        self._add(slot, positions)
        # They come in the order of the cells that they were copied from.
        self._places[slot] = dict(sorted(self._places.get(slot, {}).items()))

    def cut(self, slot: int, start: int) -> None:
        self._remove(slot, max(0, start), self.highest(slot) + 1)

    def compute(self, slot: int, start: int, end: int, micro_batch: int) -> None:
        for first in range(start, end, micro_batch):
            self._add(slot, range(first, min(end, first + micro_batch)))

    def _add(self, slot: int, positions: Sequence[int]) -> None:
        if not positions:
            return
        places = self._find(len(positions))
        overwritten: dict[int, int] = {}
        for place in places:
            if place in self._cells:
                owner, position = self._cells.pop(place)
                del self._places[owner][position]
                overwritten[owner] = max(overwritten.get(owner, -1), position)
        self._cells.update(zip(places, ((slot, position) for position in positions), strict=True))
        held = self._places.setdefault(slot, {})
        held.update(zip(positions, places, strict=True))
        for owner, position in overwritten.items():
            # Each sequence stays contiguous: what lies before an overwritten position goes, too.
            self._remove(owner, self.lowest(owner), position + 1)
        self._head = places[-1] + 1

    def _find(self, count: int) -> list[int]:
        """Cells that are empty, or whose token is out of its own sequence's window, from the head on."""
        head = 0 if self._head > len(self._cells) + 2 * count else self._head
        newest = {slot: self.highest(slot) for slot in self._places}
        places: list[int] = []
        for _ in range(self.size):
            if head >= self.size:
                head = 0
            owner = self._cells.get(head)
            if owner is None or newest[owner[0]] + 1 - owner[1] >= self.window:
                places.append(head)
                if len(places) == count:
                    return places
            head += 1
        raise AssertionError(f"{self.size} cells have no room for {count} tokens")

    def _remove(self, slot: int, start: int, end: int) -> None:
        places = self._places.get(slot, {})
        freed = [places.pop(position) for position in range(start, end) if position in places]
        for place in freed:
            del self._cells[place]
        if freed:
            self._head = min(self._head, *freed)

    def check_integrity(self) -> None:
        held = {place: (slot, at) for slot, places in self._places.items() for at, place in places.items()}
        assert held == self._cells, "cells and sequences disagree"
        for places in self._places.values():
            positions = list(places)
            expected = list(range(positions[0], positions[0] + len(positions))) if positions else []
            assert positions == expected, "a sequence has a gap"
        assert all(0 <= place < self.size for place in self._cells), "a cell that does not exist"


class RecurrentMemory:
    """One state a slot, of all tokens that it read: it can be replaced, but not taken back."""

    def __init__(self) -> None:
        self._last: dict[int, int] = {}

    def lowest(self, slot: int) -> int:
        return self._last.get(slot, -1)

    highest = lowest

    def saved(self, slot: int) -> tuple[int, ...]:
        return (self._last[slot],) if slot in self._last else ()

    def load(self, slot: int, positions: Sequence[int]) -> None:
        self.cut(slot, 0)
        if positions:
            self._last[slot] = positions[-1]

    def cut(self, slot: int, start: int) -> None:
        if start <= 0:
            self._last.pop(slot, None)
        assert start > self.highest(slot), "a state cannot be taken back"

    def compute(self, slot: int, start: int, end: int, micro_batch: int) -> None:
        if end > start:
            self._last[slot] = end - 1

    def check_integrity(self) -> None:
        assert all(last >= 0 for last in self._last.values()), "a state of no token"
