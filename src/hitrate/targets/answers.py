"""A finished HTTP response read as a model's reply: what it says, when, and what is wrong with it, on one line.

For whoever has the bytes and their moments, be it the client that measures or a recording. No socket, no clock.
"""

from __future__ import annotations

import contextlib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import accumulate, count, islice, takewhile
from operator import add, itemgetter
from typing import Any

import msgspec

from hitrate.core.model import Reading, StreamEvent, Usage
from hitrate.core.sse import looks_like_events, split_events
from hitrate.targets.content_coding import Slice, unpacked_slices
from hitrate.targets.dialects import aws_eventstream
from hitrate.targets.dialects.interface import Dialect
from hitrate.targets.dialects.wire_json import error_text

ERROR_CHARACTERS = 300
_NOTHING = Reading(reply=None, usage=Usage(), complete=False)


Reads = Sequence[tuple[int, int]]
"""Per socket read: how many bytes of the body had come with it, and its stamp in nanoseconds."""


class Outcome(msgspec.Struct, frozen=True):
    """`error` is None when the reply is whole."""

    reading: Reading
    error: str | None
    body: bytes = b""
    """Without its content coding."""
    reads: Reads = ()
    """That `body` came with."""
    events: Sequence[StreamEvent] = ()
    """Of a stream."""
    ends: Callable[[], Iterator[int]] = lambda: iter(())
    """Where in `body` each event of a stream is whole, in order. They are looked up when asked for: the first token's
    is all that is needed, and it stands near the start."""

    def first_token(self) -> tuple[int, int] | None:
        """The stamp of the event with the first generated token, and the token events in the read it came with."""
        first = self.reading.first_token
        if first is None:
            return None
        if len(self.reads) == 1:
            return self.reads[0][1], len(self.reading.token_events)
        ends = islice(self.ends(), first, None)
        read_end, stamp_ns = self._read_of(next(ends))
        last = first + len(list(takewhile(read_end.__ge__, ends)))
        return stamp_ns, bisect_right(self.reading.token_events, last)

    def first_content_ns(self) -> int | None:
        """The stamp of the event with the first visible text."""
        index = self.reading.first_content
        if index is None:
            return None
        if len(self.reads) == 1:
            return self.reads[0][1]
        return self._read_of(next(islice(self.ends(), index, None)))[1]

    def _read_of(self, end: int) -> tuple[int, int]:
        """The read that brought the byte in front of `end`."""
        return self.reads[bisect_left(self.reads, end, key=itemgetter(0))]


def read_answer(
    status: int | None, headers: Mapping[str, str], body: bytes, reads: Reads, fault: str | None, dialect: Dialect
) -> Outcome:
    """What the exchange brought, whatever its state. What came before a fault is kept.

    `status` is None where no reply began; `fault` says why the response is not whole. Header names in lower case.
    """
    if status is None:
        return Outcome(_NOTHING, fault)
    if coding := headers.get("content-encoding"):
        slices, coding_fault = unpacked_slices(_slices(body, reads), coding)
        if coding_fault is not None:
            return Outcome(_NOTHING, fault or one_line(coding_fault))
        body, reads = joined(slices)
    if status >= 300:
        return Outcome(_NOTHING, refusal_text(status, headers, body), body)
    if fault is not None and not body:
        return Outcome(_NOTHING, fault)
    is_sse = looks_like_events(body)
    if not is_sse and (strange := _no_json(headers, body)) is not None:
        return Outcome(_NOTHING, fault or strange, body)
    if headers.get("content-type") == aws_eventstream.CONTENT_TYPE:
        events = aws_eventstream.split_events(_slices(body, reads))
        if dialect.framing != "aws-eventstream":
            events = [one._replace(data=aws_eventstream.invoked_chunk(one.data)) for one in events]
        return _stream(dialect, events, fault, body, reads, lambda: (reads[one.read][0] for one in events))
    if is_sse or _is_called_events(headers, body):
        events = split_events([(0, 0, body)])
        return _stream(dialect, events, fault, body, reads, lambda: _ends_of_events(events, body, reads))
    if body.lstrip()[:1] == b"[" and (elements := _elements(body)):  # Gemini's streams, where no SSE was asked for
        return _stream(dialect, elements, fault, body, reads, lambda: _ends(elements, body, reads, (b"",)))
    reading = dialect.read_body(body)
    return Outcome(reading, fault or _reading_error(reading), body)


def _stream(
    dialect: Dialect,
    events: Sequence[StreamEvent],
    fault: str | None,
    body: bytes,
    reads: Reads,
    ends: Callable[[], Iterator[int]],
) -> Outcome:
    reading = dialect.read_stream(events)
    return Outcome(reading, fault or _reading_error(reading), body, reads, events, ends)


def joined(slices: Sequence[Slice]) -> tuple[bytes, Reads]:
    """A body, and the reads it came with."""
    ends = accumulate(len(part[2]) for part in slices)
    return b"".join([part[2] for part in slices]), [(end, part[0]) for end, part in zip(ends, slices, strict=True)]


def _slices(body: bytes, reads: Reads) -> list[Slice]:
    starts = [0, *(end for end, _ in reads)]
    return [(stamp_ns, read, body[starts[read] : end]) for read, (end, stamp_ns) in enumerate(reads)]


def _elements(body: bytes) -> list[StreamEvent]:
    """The objects of a JSON array, the end of which may be missing; none for anything else."""
    for end in (b"", b"]"):
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            objects = msgspec.json.decode(body.rstrip(b" \t\r\n,") + end, type=list[msgspec.Raw])
            return [StreamEvent(0, 0, bytes(one)) for one in objects]
    return []


def _ends_of_events(events: Sequence[StreamEvent], body: bytes, reads: Reads) -> Iterator[int]:
    data = [event.data for event in events]
    if body == b"data: %b\n\n" % b"\n\ndata: ".join(data):  # as most servers write, and nothing has to be searched for
        return map(add, accumulate(map(len, data)), count(len(b"data: "), len(b"\n\ndata: ")))
    return _ends(events, body, reads, (b"data: ", b"data:"))


def _ends(events: Sequence[StreamEvent], body: bytes, reads: Reads, marks: tuple[bytes, ...]) -> Iterator[int]:
    """Behind the last byte of each event's data, which one of `marks` stands in front of."""
    position = 0
    for index, event in enumerate(events):
        start = body.find(event.data, position)
        if start < 0 or not body.endswith(marks, position, start):
            # It is joined from several lines, or is none: let each be told while they are split.
            yield from (reads[one.read][0] for one in split_events(_slices(body, reads))[index:])
            return
        position = start + len(event.data)
        yield position


def refusal_text(status: int, headers: Mapping[str, str], body: bytes) -> str:
    """What a reply with an error status says, without the status itself where there is a message."""
    try:
        phrase = f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        phrase = f"HTTP {status}"
    if 300 <= status < 400:
        place = headers.get("location", "")
        return f"{phrase} to {one_line(place.partition('?')[0]) or 'nowhere'}: use that address"
    said = _message_in(body)
    return one_line(said) if said else phrase


def one_line(text: str) -> str:
    """At most `ERROR_CHARACTERS`, white space folded, and nothing in it that could act on a terminal."""
    folded = " ".join(text.split())
    short = folded if len(folded) <= ERROR_CHARACTERS else folded[: ERROR_CHARACTERS - 3] + "..."
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in short)


def _reading_error(reading: Reading) -> str | None:
    if reading.fault is not None:
        return one_line(reading.fault)
    if reading.reply is None:
        return "the reply holds no message"
    return None if reading.complete else "the stream ended before the reply was finished"


def _is_called_events(headers: Mapping[str, str], body: bytes) -> bool:
    """False also for an error body under the content type of a stream."""
    return "event-stream" in headers.get("content-type", "").lower() and not body[:256].lstrip().startswith(b"{")


def _no_json(headers: Mapping[str, str], body: bytes) -> str | None:
    """What a web site or a proxy answers where no model is: a page, or plain text."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if body.lstrip()[:1] in (b"{", b"["):
        return None
    if kind == "text/html" or re.match(rb"\s*<(!doctype|html)", body[:256], re.IGNORECASE):
        return "the reply is a page (text/html), not JSON; is the base URL right?"
    return "the reply is text (text/plain), not JSON; is the base URL right?" if kind == "text/plain" else None


def _message_in(body: bytes) -> str:
    """The message of an error body: OpenAI's and alike, FastAPI's `detail`, a page's title, or its plain text."""
    try:
        answer: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _text_of_page(body[:20_000].decode("utf-8", "replace"))
    if not isinstance(answer, dict):
        return str(answer)
    message = error_text(answer) or answer.get("message") or answer.get("detail")
    return message if isinstance(message, str) else msgspec.json.encode(message or answer).decode()


def _text_of_page(text: str) -> str:
    from html import unescape

    title = re.search(r"<title[^>]*>(.*?)</title", text, re.IGNORECASE | re.DOTALL)
    if title:
        return unescape(title[1])
    return unescape(re.sub(r"<[^>]*>", " ", text)) if re.match(r"\s*<(!doctype|html)", text, re.IGNORECASE) else text
