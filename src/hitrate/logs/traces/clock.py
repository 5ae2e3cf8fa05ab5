"""Times of requests counted from the first one, and what is odd about them: running back, gaps above all the rest."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hitrate.core.records import Caution, Remark

LEAP_S = 60.0
"""By as much times of a file may be out of order without harm: lines written at the ends of requests are."""

_DAY_S = 86_400.0


class Clock:
    """Never runs back."""

    def __init__(self) -> None:
        self._first = self._latest = math.nan
        self._back = 0
        self._furthest_back_s = 0.0
        self._first_back: int | None = None
        self._gap_s = 0.0
        self._behind_gap: int | None = None
        """A line."""

    def since_first(self, at_s: float, line: int | None) -> float:
        """Seconds; NaN where the time is not known."""
        if self._first != self._first:  # NaN: no request had a time yet
            self._first = self._latest = at_s
        elif at_s < self._latest:
            if not self._back:
                self._first_back = line
            self._back += 1
            self._furthest_back_s = max(self._furthest_back_s, self._latest - at_s)
            at_s = self._latest
        elif at_s == at_s:
            if at_s - self._latest > self._gap_s:
                self._gap_s, self._behind_gap = at_s - self._latest, line
            self._latest = at_s
        return at_s - self._first

    def remarks(self) -> Iterator[Remark]:
        """On all times so far."""
        if self._back:
            what = f"{self._back:,} requests are" if self._back > 1 else "1 request is"
            what += " stamped earlier than the one before; they are taken in the file's order"
            if self._furthest_back_s > LEAP_S:
                yield Caution(
                    line=self._first_back,
                    what=f"{what} and at its time, from here on, by up to {duration(self._furthest_back_s)}: "
                    "lifetimes, times to first token and what GPUs cost are of another load; sort the file by times",
                )
            else:
                yield Remark(line=None, what=what)
        whole_s = self._latest - self._first
        if self._gap_s > _DAY_S and self._gap_s > whole_s / 2:
            yield Caution(
                line=self._behind_gap,
                what=f"stamped {duration(self._gap_s)} after the request before, {100 * self._gap_s / whole_s:.3g} % "
                "of the time of the whole trace: GPUs are paid for throughout, and lifetimes run out; is it right?",
            )


def duration(seconds: float) -> str:
    """In the largest unit of which there are at least two."""
    for unit, size in (("years", 365.25 * _DAY_S), ("days", _DAY_S), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:,.3g} seconds"
