"""Python's search for cycles of objects, held back while what is made has none and stays."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_SELDOM = 70_000
"""Objects, a hundred times as many as usual; modules have few cycles, and what is kept of calls none."""


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """May be entered within itself. What was made meanwhile counts as old behind it, not as the first to look at."""
    before = gc.get_threshold()
    if before[0]:  # 0 is never
        gc.set_threshold(max(before[0], _SELDOM), *before[1:])
    try:
        yield
    finally:
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        gc.set_threshold(*before)
