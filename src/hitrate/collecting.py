"""Python's search for cycles of objects, held back while what is made has none and stays."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SELDOM = 70_000
"""Objects, a hundred times as many as usual; modules have few cycles, and what is kept of calls none."""

_entering = threading.Lock()
_entered = 0
_usual: tuple[int, int, int] = (0, 0, 0)
"""The thresholds that the last one to leave puts back."""


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """May be entered again before it is left, in this thread or in others, and left in any order: the thresholds are
    the process's."""
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _entered, _usual
    with _entering:
        if not _entered:
            _usual = gc.get_threshold()
            if _usual[0]:  # 0 is never
                gc.set_threshold(max(_usual[0], _SELDOM), *_usual[1:])
        _entered += 1


def _leave() -> None:
    global _entered
    with _entering:
        _entered -= 1
        if not _entered:
            gc.set_threshold(*_usual)
