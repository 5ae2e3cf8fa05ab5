"""An answer as a series of timed writes, with the faults of its call worked in. Pure: no socket, no clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from hitrate.serve.practice.faults import ActiveFaults
from hitrate.serve.practice.wire import Answer, Refused, Wire

SPLIT_PAUSE_S = 0.002
"""Long enough for the two halves to leave as two TCP segments."""


class Write(NamedTuple):
    """Bytes to write at `due` (seconds, server's clock), RESPONSE_ID where the id goes.

    `first_token` marks the write that starts the first generated token; `close` ends the connection after it.
    """

    due: float
    data: bytes
    first_token: bool = False
    close: bool = False


class Pace(NamedTuple):
    """When the answer was ready to start, when its first token is due, and the seconds between tokens."""

    start: float
    first_token: float
    interval: float

    def token(self, index: int) -> float:
        # From the first token on, so that late timers do not add up.
        return self.first_token + index * self.interval


def pace_of(start: float, first_token: float, decode_rate: float, faults: ActiveFaults) -> Pace:
    extra = faults["slow"]["ms"] / 1000 if "slow" in faults else 0.0
    return Pace(start, first_token, 1 / decode_rate + extra)


def stream(wire: Wire, answer: Answer, pace: Pace, faults: ActiveFaults) -> Iterator[Write]:
    """The writes of a streamed answer. Role and first token share a write, and so do all events behind the last
    token, unless a fault parts them."""
    writes = _whole_stream(wire, answer, pace, faults)
    if "merge" in faults:
        writes = _merged(writes)
    for fault, broken in _BREAKING.items():
        if fault in faults:
            # A reply that is shorter than `after` is struck at its end.
            at = min(faults[fault]["after"], _last_write(wire, answer, faults))
            writes = broken(writes, at, wire, faults)
    if "comment" in faults:
        comment = wire.framing.comment(faults)
        writes = (write._replace(data=comment + write.data) for write in writes)
    if "split" in faults:
        writes = (half for write in writes for half in _split(write))
    return writes


def whole_body(wire: Wire, answer: Answer, pace: Pace, faults: ActiveFaults) -> Write:
    """The one write of an answer that is not streamed, due when its last token is."""
    data = wire.body(answer)
    if "error-after-200" in faults:
        data = wire.error(BROKEN_OFF)
    if "malformed" in faults or "cut" in faults:
        data = data[: len(data) // 2]
    last = pace.token(max(0, len(answer.reply.pieces) - 1))
    return Write(last, data, close="cut" in faults)


BROKEN_OFF = Refused(500, "the engine broke off, as it was told to", "internal_error", kind="server_error")


def _whole_stream(wire: Wire, answer: Answer, pace: Pace, faults: ActiveFaults) -> Iterator[Write]:
    frames = wire.framing.frames
    opening = b"" if "no-role" in faults else frames(wire.opening(answer), faults)
    if opening and "early-role" in faults:
        yield Write(pace.start, opening)
        opening = b""
    for index, events in enumerate(wire.pieces(answer)):
        data = frames(events, faults)
        yield Write(pace.token(index), opening + data if index == 0 else data, first_token=index == 0)
    closing = wire.closing(answer)
    if wire.end_mark is not None and "no-done" not in faults:
        closing.append(wire.end_mark)
    yield Write(pace.token(len(answer.reply.pieces) - 1), frames(closing, faults))


def _last_write(wire: Wire, answer: Answer, faults: ActiveFaults) -> int:
    opens_early = "early-role" in faults and "no-role" not in faults and bool(wire.opening(answer))
    writes = len(answer.reply.pieces) + 1 + opens_early
    return (-(-writes // 2) if "merge" in faults else writes) - 1


def _merged(writes: Iterator[Write]) -> Iterator[Write]:
    """Two writes in one, at the moment of the later one."""
    while pair := list(islice(writes, 2)):
        first = any(write.first_token for write in pair)
        yield Write(pair[-1].due, b"".join(write.data for write in pair), first)


def _cut(writes: Iterator[Write], at: int, wire: Wire, faults: ActiveFaults) -> Iterator[Write]:
    for index, write in enumerate(writes):
        if index == at:
            yield write._replace(data=write.data[: len(write.data) // 2], close=True)
            return
        yield write


def _malformed(writes: Iterator[Write], at: int, wire: Wire, faults: ActiveFaults) -> Iterator[Write]:
    """One event more, the first half of the one that follows it."""
    for index, write in enumerate(writes):
        if index == at:
            yield write._replace(data=wire.framing.broken(write.data, faults), first_token=False)
        yield write


def _error_after_200(writes: Iterator[Write], at: int, wire: Wire, faults: ActiveFaults) -> Iterator[Write]:
    for index, write in enumerate(writes):
        if index == at:
            yield write._replace(data=wire.framing.frames([wire.error_event(BROKEN_OFF)], faults), first_token=False)
            return
        yield write


_BREAKING: dict[str, Callable[[Iterator[Write], int, Wire, ActiveFaults], Iterator[Write]]] = {
    "malformed": _malformed,
    "error-after-200": _error_after_200,
    "cut": _cut,
}


def _split(write: Write) -> Iterator[Write]:
    """Two writes, parted inside the first character of several bytes, or in the middle."""
    data = write.data
    inside = next((index for index, byte in enumerate(data) if 0x80 <= byte < 0xC0), len(data) // 2)
    yield write._replace(data=data[:inside], close=False)
    yield Write(write.due + SPLIT_PAUSE_S, data[inside:], close=write.close)
