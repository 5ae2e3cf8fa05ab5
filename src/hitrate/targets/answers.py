"""A finished HTTP response read as a model's reply: what it says, when, and what is wrong with it, on one line.

For whoever has the bytes and their moments, be it the client that measures or a recording. No socket, no clock.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from html import unescape
from http import HTTPStatus
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


class Outcome(msgspec.Struct, frozen=True):
    """`events` is empty for a reply that did not come as a stream. `error` is None when the reply is whole."""

    reading: Reading
    events: Sequence[StreamEvent]
    error: str | None

    def first_token(self) -> tuple[int, int] | None:
        """The stamp of the event with the first generated token, and the token events in the read it came with."""
        if self.reading.first_token is None:
            return None
        first = self.events[self.reading.first_token]
        tokens = self.reading.token_events
        return first.stamp_ns, bisect_right(tokens, first.read, key=lambda event: self.events[event].read)

    def first_content_ns(self) -> int | None:
        """The stamp of the event with the first visible text."""
        index = self.reading.first_content
        return None if index is None else self.events[index].stamp_ns


def read_answer(
    status: int | None, headers: Mapping[str, str], slices: Sequence[Slice], fault: str | None, dialect: Dialect
) -> Outcome:
    """What the exchange brought, whatever its state. What came before a fault is kept.

    `status` is None where no reply began; `fault` says why the response is not whole. Header names in lower case.
    """
    if status is None:
        return Outcome(_NOTHING, (), fault)
    slices, coding_fault = unpacked_slices(slices, headers.get("content-encoding", ""))
    body = b"".join([part[2] for part in slices])
    if coding_fault is not None:
        return Outcome(_NOTHING, (), fault or one_line(coding_fault))
    if status >= 300:
        return Outcome(_NOTHING, (), refusal_text(status, headers, body))
    if fault is not None and not body:
        return Outcome(_NOTHING, (), fault)
    if looks_like_events(body):
        events: Sequence[StreamEvent] | None = split_events(slices)
    elif (strange := _no_json(headers, body)) is not None:
        return Outcome(_NOTHING, (), fault or strange)
    else:
        events = _events_by_content_type(headers, dialect, slices, body)
    reading = dialect.read_body(body) if events is None else dialect.read_stream(events)
    return Outcome(reading, events or (), fault or _reading_error(reading))


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


def _events_by_content_type(
    headers: Mapping[str, str], dialect: Dialect, slices: Sequence[Slice], body: bytes
) -> Sequence[StreamEvent] | None:
    """None where the reply does not call itself a stream, or is an error body under the content type of one."""
    kind = headers.get("content-type", "")
    if dialect.framing == "aws-eventstream" and kind == aws_eventstream.CONTENT_TYPE:
        return aws_eventstream.split_events(slices)
    if "event-stream" in kind.lower() and not body[:256].lstrip().startswith(b"{"):
        return split_events(slices)
    return None


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
    title = re.search(r"<title[^>]*>(.*?)</title", text, re.IGNORECASE | re.DOTALL)
    if title:
        return unescape(title[1])
    return unescape(re.sub(r"<[^>]*>", " ", text)) if re.match(r"\s*<(!doctype|html)", text, re.IGNORECASE) else text
