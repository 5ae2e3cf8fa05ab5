"""Every fault of a stream by its bytes and moments."""

from __future__ import annotations

import pytest

from hitrate.serve.practice.faults import ActiveFaults, parse_fault
from hitrate.serve.practice.framing import Event
from hitrate.serve.practice.timeline import Write, pace_of, stream, whole_body
from hitrate.serve.practice.wire import Answer, Piece, Reply, Wire

PIECES = (Piece("text", "Zür"), Piece("text", "ich"), Piece("text", " ok"))
ANSWER = Answer("m", 0, Reply(PIECES, "stop", "Zürich ok"), prompt_tokens=9, cached_tokens=0)


class TerseWire(Wire):
    """A wire whose events are short enough to be read here."""

    path = "/"
    id_prefix = b"x"
    end_mark = Event(b"END")

    def opening(self, answer):
        return [Event(b"role")]

    def pieces(self, answer):
        return ([Event(piece.text.encode())] for piece in answer.reply.pieces)

    def closing(self, answer):
        return [Event(b"finish"), Event(b"usage", b"last")]

    def body(self, answer):
        return b"whole body"

    def error(self, refused):
        return b"error"


def writes(*faults):
    active = ActiveFaults(tuple(map(parse_fault, faults)), call=1, seed=0)
    return list(stream(TerseWire(), ANSWER, pace_of(5.0, 10.0, 10.0, active), active))


def text(*faults):
    return b"".join(write.data for write in writes(*faults)).decode()


TAIL = "data: finish\n\nevent: last\ndata: usage\n\ndata: END\n\n"


def test_without_faults_tokens_are_due_at_absolute_moments():
    assert writes() == [
        Write(10.0, "data: role\n\ndata: Zür\n\n".encode(), first_token=True),
        Write(10.1, b"data: ich\n\n"),
        Write(10.2, b"data:  ok\n\n"),
        Write(10.2, TAIL.encode()),
    ]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("no-role", f"data: Zür\n\ndata: ich\n\ndata:  ok\n\n{TAIL}"),
        ("no-done", "data: role\n\ndata: Zür\n\ndata: ich\n\ndata:  ok\n\n" + TAIL.removesuffix("data: END\n\n")),
        ("no-space", f"data: role\n\ndata: Zür\n\ndata: ich\n\ndata:  ok\n\n{TAIL}".replace(": ", ":")),
        ("crlf", f"data: role\n\ndata: Zür\n\ndata: ich\n\ndata:  ok\n\n{TAIL}".replace("\n", "\r\n")),
        ("malformed", f"data: role\n\ndata: Zür\n\ndata\n\ndata: ich\n\ndata:  ok\n\n{TAIL}"),
        ("malformed:after=2", f"data: role\n\ndata: Zür\n\ndata: ich\n\ndata\n\ndata:  ok\n\n{TAIL}"),
        ("error-after-200", "data: role\n\ndata: Zür\n\ndata: error\n\n"),
        ("cut:after=1", "data: role\n\ndata: Zür\n\ndata:"),
        ("cut:after=99", "data: role\n\ndata: Zür\n\ndata: ich\n\ndata:  ok\n\n" + TAIL[: len(TAIL) // 2]),
        (
            "comment",
            ": keep-alive\n\ndata: role\n\ndata: Zür\n\n: keep-alive\n\ndata: ich\n\n: keep-alive\n\ndata:  ok\n\n"
            f": keep-alive\n\n{TAIL}",
        ),
    ],
)
def test_bytes_of_a_fault(fault, expected):
    assert text(fault) == expected


def test_only_a_cut_closes_the_connection():
    assert [write.close for write in writes("cut:after=1")] == [False, True]
    assert not any(write.close for write in writes("error-after-200"))


def test_slow_adds_to_the_time_between_tokens_only():
    assert [write.due for write in writes("slow:ms=900")] == [10.0, 11.0, 12.0, 12.0]


def test_early_role_comes_at_once():
    first, second = writes("early-role")[:2]
    assert first == Write(5.0, b"data: role\n\n")
    assert (second.due, second.first_token) == (10.0, True)


def test_merge_puts_two_tokens_into_one_write_when_the_second_is_due():
    merged = writes("merge")
    assert [(write.due, write.first_token) for write in merged] == [(10.1, True), (10.2, False)]
    assert b"".join(write.data for write in merged).decode() == text()


def test_split_parts_writes_inside_a_character():
    halves = writes("split")
    assert halves[0] == Write(10.0, b"data: role\n\ndata: Z\xc3", first_token=True)
    assert halves[1] == Write(10.002, b"\xbcr\n\n")
    assert [half.first_token for half in halves] == [True] + [False] * 7
    assert b"".join(half.data for half in halves).decode() == text()


def test_merge_and_cut_together_still_cut():
    assert writes("merge", "cut")[-1].close


@pytest.mark.parametrize(
    ("fault", "data", "close"),
    [
        (None, b"whole body", False),
        ("malformed", b"whole", False),
        ("cut", b"whole", True),
        ("error-after-200", b"error", False),
    ],
)
def test_one_body_is_due_with_its_last_token(fault, data, close):
    active = ActiveFaults((parse_fault(fault),) if fault else (), call=1, seed=0)
    pace = pace_of(5.0, 10.0, 10.0, active)
    assert whole_body(TerseWire(), ANSWER, pace, active) == Write(10.2, data, close=close)
