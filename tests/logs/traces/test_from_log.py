"""A log as a trace: tokens in blocks, models apart, in the order of time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from trace_files import rows

from hitrate.core.model import Call, Timing, Usage
from hitrate.core.records import Records
from hitrate.errors import InputFileError
from hitrate.logs.traces.from_log import LogTrace


class Log:
    path, format = "log", "f"

    def __init__(self, *calls: Call) -> None:
        self._calls = calls

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls)

    def records(self) -> Records:
        return Records(read=len(self._calls), used=len(self._calls))


def call(text: str, at: float | None = None, model: str = "m", session: str = "") -> Call:
    timing = None if at is None else Timing(at=at, sent_at_s=0.0)
    usage = Usage(output_tokens=7)
    return Call(target="t", dialect="d", body=text.encode(), model=model, timing=timing, session=session, usage=usage)


def tokens(call: Call) -> list[int]:
    if b"!" in call.body:
        raise ValueError
    return list(call.body)


def trace(*calls: Call) -> LogTrace:
    return LogTrace(Log(*calls), tokens, lambda: "exact", 2)


def test_blocks_are_equal_where_all_in_front_is_equal_too() -> None:
    found = rows(trace(call("abcd", 5.0, session="s"), call("abxx", 8.0, session="s"), call("xxcd", 9.0)))

    assert [row.ids for row in found] == [[0, 1], [0, 2], [3, 4]]
    assert [(row.at_s, row.input_tokens, row.output_tokens, row.session) for row in found] == [
        (0.0, 4, 7, 0),
        (3.0, 4, 7, 0),
        (4.0, 4, 7, -1),
    ]


def test_models_share_nothing_and_calls_come_in_the_order_of_time() -> None:
    found = rows(trace(call("ab", 2.0), call("ab", 1.0, model="other"), call("ab", 3.0)))

    assert [row.ids for row in found] == [[0], [1], [1]]


def test_what_is_left_out_and_not_known_is_said() -> None:
    log = trace(call("ab", 2.0), call("!", 1.0), call("", 1.0), call("ab"))
    rows(log)

    assert [remark.what for remark in log.records().remarks] == [
        "1 of 2 calls have no time; the order is that of the log",
        "2 calls left out: the log holds no request, or one that cannot be read",
        "exact",
    ]


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ((call("!"),), "log: of 1 record none has a prompt that can be read; `hitrate explain` says of each what"),
        ((call(""), call("!")), "log: of 2 records none has a prompt that can be read; `hitrate explain` says"),
        ((call(""), call("")), "log: of 2 calls none has a prompt: f logs of this kind keep what was used and not"),
        ((), "log: no call is recorded in it (read as f)"),
    ],
)
def test_a_log_without_prompts_says_why_and_what_it_is_good_for(calls: tuple[Call, ...], said: str) -> None:
    with pytest.raises(InputFileError) as refused:
        rows(trace(*calls))

    assert refused.value.message.startswith(said)
