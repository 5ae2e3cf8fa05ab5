"""How far two sequences agree. Slices are compared, never single characters, so a megabyte takes milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_STEP = 16


def common_prefix(was: Sequence[Any], now: Sequence[Any]) -> int:
    """Number of leading items that both have. Long texts that part early are not compared any further."""
    unequal = min(len(was), len(now))
    equal, step = 0, _STEP
    while step < unequal and was[equal:step] == now[equal:step]:
        equal, step = step, 4 * step
    if step >= unequal and was[equal:unequal] == now[equal:unequal]:
        return unequal
    unequal = min(unequal, step)
    while unequal - equal > 1:
        middle = (equal + unequal) // 2
        if was[equal:middle] == now[equal:middle]:
            equal = middle
        else:
            unequal = middle
    return equal


def common_suffix(was: Sequence[Any], now: Sequence[Any], leave: int = 0) -> int:
    """Number of trailing items that both have, the first `leave` items of each not counted.

    Most differences are short and have much behind them, so the end of one is looked for from its start.
    """
    end_was, end_now = len(was), len(now)
    unequal = min(end_was, end_now) - leave
    if was[end_was - unequal :] == now[end_now - unequal :]:
        return unequal
    equal, step = 0, _STEP
    while step < unequal:
        if was[end_was - unequal + step :] == now[end_now - unequal + step :]:
            equal, unequal = unequal - step, unequal - step // 4 if step > _STEP else unequal
            break
        step *= 4
    while unequal - equal > 1:
        middle = (equal + unequal) // 2
        if was[end_was - middle : end_was - equal] == now[end_now - middle : end_now - equal]:
            equal = middle
        else:
            unequal = middle
    return equal
