"""How late the run's own clock was, told by the run: loop lag, late first reads, achieved concurrency."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from hitrate.core.model import Call
from hitrate.core.results import Measurement
from hitrate.core.statistics import quantile

INTERVAL_S = 0.01


class LoopLag:
    """Samples how much later than asked the event loop runs a timer: `async with LoopLag() as lag`.

    A stamp can be late by as much as the loop was. The figures hold the timer's own rounding, up to 1 ms with epoll.
    """

    def __init__(self, interval_s: float = INTERVAL_S) -> None:
        self.samples_ms = array("f")
        self._interval_s = interval_s
        self._handle: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._arm()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is not None:
            self._handle.cancel()

    def _arm(self) -> None:
        self._due = self._loop.time() + self._interval_s
        self._handle = self._loop.call_at(self._due, self._ring)

    def _ring(self) -> None:
        self.samples_ms.append(max(0.0, (self._loop.time() - self._due) * 1e3))
        self._arm()


def achieved_concurrency(calls: Sequence[Call]) -> float | None:
    """Calls in flight, as a mean over the time from the first write to the last byte; None if no call was whole."""
    spans = [
        (call.timing.sent_at_s, call.timing.total_s)
        for call in calls
        if call.timing is not None and call.timing.total_s is not None
    ]
    if not spans:
        return None
    elapsed_s = max(sent + total for sent, total in spans) - min(sent for sent, _ in spans)
    return sum(total for _, total in spans) / elapsed_s if elapsed_s > 0 else None


def measurement(
    calls: Sequence[Call],
    *,
    lag_ms: Sequence[float] = (),
    connect_times_s: Sequence[float] = (),
    asked_concurrency: int | None = None,
) -> Measurement:
    """What the run says of itself. `lag_ms` are `LoopLag.samples_ms`, `connect_times_s` those of the client.

    Concurrency is that of all `calls`; hand in the calls of one phase when phases asked for different ones.
    """
    return Measurement(
        loop_lag_p50_ms=_quantile(lag_ms, 0.50),
        loop_lag_p99_ms=_quantile(lag_ms, 0.99),
        loop_lag_max_ms=_quantile(lag_ms, 1.0),
        late_first_reads=sum(call.timing is not None and call.timing.ttft_is_upper_bound for call in calls),
        calls=len(calls),
        achieved_concurrency=achieved_concurrency(calls),
        asked_concurrency=asked_concurrency,
        connections_opened=len(connect_times_s),
        connect_p50_ms=_quantile([seconds * 1e3 for seconds in connect_times_s], 0.50),
        retries=sum(len(call.waits) for call in calls),
        waited_s=sum(sum(call.waits) for call in calls),
    )


def _quantile(values: Sequence[float], share: float) -> float | None:
    return quantile(values, share) if values else None
