"""Calls are written as (sent_at_s, total_s, token events in the first read)."""

import asyncio

import pytest

from hitrate.core.model import Call, Timing
from hitrate.core.results import Measurement
from hitrate.live.lag import LoopLag, achieved_concurrency, measurement


def call(sent_at_s, total_s, first_read_tokens=1, waits=()):
    timing = Timing(at=0.0, sent_at_s=sent_at_s, total_s=total_s, first_read_tokens=first_read_tokens)
    return Call(target="t", dialect="d", body=b"", timing=timing, waits=waits)


@pytest.mark.parametrize(
    ("calls", "concurrency"),
    [
        ([], None),
        ([Call(target="t", dialect="d", body=b"")], None),
        ([call(5.0, None)], None),
        ([call(5.0, 2.0)], 1.0),
        ([call(0.0, 1.0), call(1.0, 1.0)], 1.0),
        ([call(0.0, 2.0), call(0.0, 2.0), call(0.0, 2.0)], 3.0),
        ([call(0.0, 1.0), call(3.0, 1.0)], 0.5),
        ([call(0.0, 4.0), call(2.0, 2.0), call(1.0, None)], 1.5),
    ],
)
def test_achieved_concurrency_is_the_mean_of_calls_in_flight(calls, concurrency):
    assert achieved_concurrency(calls) == concurrency


def test_a_run_states_its_own_measurement():
    calls = [
        call(0.0, 2.0, first_read_tokens=3, waits=(1.0, 2.0)),
        call(0.0, 2.0),
        call(0.0, None, first_read_tokens=0),
    ]
    assert measurement(calls, lag_ms=[0.0, 1.0, 5.0], connect_times_s=[0.25, 0.5], asked_concurrency=2) == Measurement(
        loop_lag_p50_ms=1.0,
        loop_lag_p99_ms=pytest.approx(4.92),
        loop_lag_max_ms=5.0,
        late_first_reads=1,
        calls=3,
        achieved_concurrency=2.0,
        asked_concurrency=2,
        connections_opened=2,
        connect_p50_ms=375.0,
        retries=2,
        waited_s=3.0,
    )


def test_what_was_not_sampled_is_unknown():
    assert measurement([]) == Measurement(waited_s=0)


class SlowLoop:
    """An event loop whose timers ring when the test says so."""

    def __init__(self):
        self.now = 100.0
        self.timer = None

    def time(self):
        return self.now

    def call_at(self, when, callback):
        self.timer = Timer(when, callback)
        return self.timer

    def ring(self, late_s):
        timer, self.now = self.timer, self.timer.when + late_s
        timer.callback()


class Timer:
    def __init__(self, when, callback):
        self.when, self.callback, self.cancelled = when, callback, False

    def cancel(self):
        self.cancelled = True


def test_loop_lag_is_how_much_later_than_asked_a_timer_rings(monkeypatch):
    loop = SlowLoop()
    monkeypatch.setattr("asyncio.get_running_loop", lambda: loop)
    lag = LoopLag(interval_s=0.5)
    with pytest.raises(StopIteration):
        lag.__aenter__().send(None)
    assert loop.timer.when == 100.5
    loop.ring(late_s=0.25)
    assert loop.timer.when == 101.25  # the next interval starts when this one was seen to end
    loop.ring(late_s=0.0)
    loop.ring(late_s=-0.001)  # timers may ring early by the clock's resolution
    assert list(lag.samples_ms) == [250.0, 0.0, 0.0]
    with pytest.raises(StopIteration):
        lag.__aexit__(None, None, None).send(None)
    assert loop.timer.cancelled


def test_it_samples_a_real_loop(run):
    async def main():
        async with LoopLag(interval_s=0.0) as lag:
            while len(lag.samples_ms) < 3:
                await asyncio.sleep(0)
        return lag.samples_ms

    assert min(run(main())) >= 0
