"""How far two sequences agree. Slices are compared, never single characters, so a megabyte takes milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def common_prefix(was: Sequence[Any], now: Sequence[Any]) -> int:
    """Number of leading items that both have."""
    unequal = min(len(was), len(now))
    if was[:unequal] == now[:unequal]:
        return unequal
    equal = 0
    while unequal - equal > 1:
        middle = (equal + unequal) // 2
        if was[equal:middle] == now[equal:middle]:
            equal = middle
        else:
            unequal = middle
    return equal


def common_suffix(was: Sequence[Any], now: Sequence[Any], leave: int = 0) -> int:
    """Number of trailing items that both have, the first `leave` items of each not counted."""
    unequal = min(len(was), len(now)) - leave
    if was[len(was) - unequal :] == now[len(now) - unequal :]:
        return unequal
    equal = 0
    while unequal - equal > 1:
        middle = (equal + unequal) // 2
        if was[len(was) - middle : len(was) - equal] == now[len(now) - middle : len(now) - equal]:
            equal = middle
        else:
            unequal = middle
    return equal
