"""Comparing token sequences."""

from __future__ import annotations


def common_prefix_length(left: tuple[int, ...], right: tuple[int, ...], right_start: int = 0) -> int:
    """How many leading tokens of `left` equal those of `right[right_start:]`.

    Halving with slice comparisons stays linear and lets the interpreter compare in C.
    """
    limit = min(len(left), len(right) - right_start)
    if left[:limit] == right[right_start : right_start + limit]:
        return limit
    low, high = 0, limit  # equal before `low`, a difference somewhere in [low, high)
    while high - low > 1:
        middle = (low + high) // 2
        if left[low:middle] == right[right_start + low : right_start + middle]:
            low = middle
        else:
            high = middle
    return low
