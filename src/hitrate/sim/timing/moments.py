"""What became of each request, and the figures of a whole fleet that follow from it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from math import fsum, isnan, nan
from typing import NamedTuple

from hitrate.core.statistics import quantile


class Spread(NamedTuple):
    """Seconds."""

    n: int
    mean: float
    p50: float
    p90: float
    p99: float


class FleetTiming(NamedTuple):
    """Times of the requests that are counted, and what the replicas did over the whole trace. A request's time to first
    token is what its blocks take from a shared store, what it waits for a step, and the steps that compute it; those
    that no replica can ever serve have none. None where no request is counted."""

    ttft_s: Spread | None
    queue_s: Spread | None
    """From the moment a request is at its replica, with its blocks, to its first step."""
    end_to_end_s: Spread | None
    busy_s: tuple[float, ...]
    """What each replica computed."""
    span_s: float
    """From the first arrival to the last end."""
    last_s: float
    """The last end, as a time of the trace."""
    most_in_flight: int
    """At one replica."""
    preemptions: int
    """How often a request had to give up its memory."""

    @property
    def busy_gpu_s(self) -> float:
        """Of all replicas, one GPU each."""
        return fsum(self.busy_s)

    @property
    def provisioned_gpu_s(self) -> float:
        """Of all replicas over the span, busy or not."""
        return len(self.busy_s) * self.span_s


class Moments:
    """Columns with an entry a request; NaN for what has not happened."""

    def __init__(self) -> None:
        self.arrived = array("d")
        self.ready = array("d")
        """When it is at its replica, with all that it gets from elsewhere."""
        self.scheduled = array("d")
        self.first_token = array("d")
        self.end = array("d")

    def add(self, at_s: float, ready: float) -> None:
        self.arrived.append(at_s)
        self.ready.append(ready)
        for column in (self.scheduled, self.first_token, self.end):
            column.append(nan)

    def ttft_s(self, first: int = 0) -> list[float]:
        """Of the requests from that number on, without those that never had a token."""
        return _between(self.arrived[first:], self.first_token[first:])

    def timing(self, busy_s: Sequence[float], most_in_flight: int, preemptions: int, first: int) -> FleetTiming:
        """`first` is the number of the first request that is counted."""
        last = max((moment for moment in self.end if not isnan(moment)), default=nan)
        return FleetTiming(
            spread(self.ttft_s(first)),
            spread(_between(self.ready[first:], self.scheduled[first:])),
            spread(_between(self.arrived[first:], self.end[first:])),
            tuple(busy_s),
            0.0 if isnan(last) else last - self.arrived[0],
            last,
            most_in_flight,
            preemptions,
        )


def spread(values: Sequence[float]) -> Spread | None:
    if not values:
        return None
    ordered = sorted(values)
    return Spread(len(ordered), fsum(ordered) / len(ordered), *(quantile(ordered, share) for share in (0.5, 0.9, 0.99)))


def _between(starts: Iterable[float], ends: Iterable[float]) -> list[float]:
    return [end - start for start, end in zip(starts, ends, strict=True) if not isnan(end)]
