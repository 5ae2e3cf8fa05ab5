from __future__ import annotations

import pytest

from hitrate.core.model import Call, Reply, Timing
from hitrate.core.records import Remark
from hitrate.logs.in_order import in_order


def call(name, at=None, session=""):
    timing = None if at is None else Timing(at=at, sent_at_s=at)
    return Call(target="", dialect="", body=name.encode(), timing=timing, session=session)


@pytest.mark.parametrize(
    ("times", "order"),
    [
        ((), ""),
        ((1, 2, 3), "abc"),
        ((3, 2, 1), "cba"),
        ((2, 1, 3), "bac"),
        ((1, 1, 1), "abc"),
        ((2, 2, 1), "cba"),
        ((1, 2, 2), "abc"),
        ((None, None, None), "abc"),
        ((5, None, 1), "cba"),
        ((None, 3, 2), "acb"),
    ],
)
def test_by_time(times, order):
    calls = [call(name, at) for name, at in zip("abcdef", times, strict=False)]
    assert b"".join(one.body for one in in_order(iter(calls))) == order.encode()


def test_what_is_no_call_comes_first():
    remark = Remark(line=1, what="odd")
    first, second = call("a", 2), call("b", 1)
    assert list(in_order(iter([first, remark, second]))) == [remark, second, first]


def test_a_reply_with_half_a_surrogate_pair_comes_through():
    odd = Call(target="", dialect="", body=b"", reply=Reply(message={"content": "\ud83d"}, text="\ud83d"))
    assert list(in_order(iter([odd]))) == [odd]


def test_a_guessed_session_of_one_call_is_none():
    calls = [call("a", 1, "x"), call("b", 2, "y"), call("c", 3, "y"), call("d", 4, "z")]
    assert [one.session for one in in_order(iter(calls), {"x", "y"})] == ["", "y", "y", "z"]
