"""What a run says of its own clock and of replies without a first token."""

import pytest

from hitrate.cli.live_run import clock_warnings, stream_warnings
from hitrate.core.model import Call, Reply, Timing
from hitrate.core.results import Measurement


@pytest.mark.parametrize(
    ("lag_ms", "samples", "fastest_ms", "said"),
    [
        (1.2, 500, 0.4, False),  # the timers' own rounding
        (1.9, 500, 0.4, False),
        (2.5, 500, 0.4, True),
        (2.5, 49, 0.4, False),
        (2.5, 50, 0.4, True),
        (2.5, 500, 10.0, False),
        (9.0, 500, 10.0, True),
        (None, 500, 10.0, False),
        (9.0, 500, None, False),
    ],
)
def test_a_late_loop_is_told_where_it_matters(lag_ms, samples, fastest_ms, said):
    warm = [] if fastest_ms is None else [fastest_ms, 3 * fastest_ms]
    found = clock_warnings(Measurement(loop_lag_p99_ms=lag_ms), samples, warm)
    assert [text.startswith("this machine was busy") for text in found] == [True] * said


def call(ttft_s=None, text="Yes.", error=None):
    timing = Timing(at=0.0, sent_at_s=0.0, ttft_s=ttft_s, total_s=0.2)
    reply = Reply(message={"role": "assistant", "content": text}, text=text)
    return Call(target="t", dialect="openai-chat", body=b"{}", timing=timing, reply=reply, error=error)


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ([call(0.1), call(0.1)], []),
        ([call(), call()], ["the target did not stream: no time to first token"]),
        ([call(), call(0.1)], ["the target did not stream in 1 of 2 calls: no time to first token"]),
        ([call(text="")], []),
        ([call(error="the stream broke off")], []),
        ([], []),
    ],
)
def test_a_target_that_does_not_stream_is_told(calls, said):
    assert stream_warnings(calls) == said
