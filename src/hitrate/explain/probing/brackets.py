"""Thresholds in time: how soon a prefix can be read, and how long it stays. Each is enclosed between two tries."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class Bracket(Struct, frozen=True):
    """The truth is above `low` and at most `high`; None where that side was not seen."""

    low: float | None
    high: float | None


def delay_bracket(tries: Iterable[tuple[float, bool]]) -> Bracket | None:
    """From (age at the read, found): not found before, found from then on. None when early hits contradict late misses.

    `low` None: found at the earliest age tried. `high` None: never found.
    """
    ordered = sorted(tries)
    hits = [age for age, found in ordered if found]
    misses = [age for age, found in ordered if not found]
    if hits and misses and max(misses) > min(hits):
        return None
    return Bracket(max(misses, default=None), min(hits, default=None))


def lifetime_bracket(tries: Iterable[tuple[float, bool]]) -> Bracket | None:
    """From (age at the read, found): found up to `low`, gone at `high`. None when late hits contradict early misses."""
    ordered = sorted(tries)
    hits = [age for age, found in ordered if found]
    misses = [age for age, found in ordered if not found]
    if hits and misses and max(hits) > min(misses):
        return None
    return Bracket(max(hits, default=None), min(misses, default=None))


def between(low: float, high: float, parts: int) -> list[float]:
    """`parts` - 1 places between the two, evenly by ratio: 5 s and 5 min are found equally well."""
    low = max(low, high / 64)
    return [low * (high / low) ** (part / parts) for part in range(1, parts)]
