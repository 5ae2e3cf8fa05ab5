"""A finished exchange made into the parts of a `Call`: reading, timing, and the error on one line."""

from __future__ import annotations

import re
import zlib
from bisect import bisect_right
from collections.abc import Sequence
from html import unescape
from http import HTTPStatus
from typing import Any

import msgspec

from hitrate.core.model import Reading, StreamEvent, Timing, Usage
from hitrate.core.sse import looks_like_events, split_events
from hitrate.live.response import LONGEST_REPLY_BYTES, TOO_LONG, Response, Slice
from hitrate.targets.dialects import aws_eventstream
from hitrate.targets.dialects.interface import Dialect
from hitrate.targets.dialects.wire_json import error_text

ERROR_CHARACTERS = 300
_ZLIB_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_NOTHING = Reading(reply=None, usage=Usage(), complete=False)


class Outcome(msgspec.Struct, frozen=True):
    """`events` is empty for a reply that did not come as a stream. `error` is None when the reply is whole."""

    reading: Reading
    events: Sequence[StreamEvent]
    error: str | None


def read_outcome(response: Response, dialect: Dialect) -> Outcome:
    """What the exchange brought, whatever its state. What came before a fault is kept."""
    if response.status is None:
        return Outcome(_NOTHING, (), response.fault)
    slices, coding_fault = decoded_slices(response)
    body = b"".join([part[2] for part in slices])
    if coding_fault is not None:
        return Outcome(_NOTHING, (), response.fault or coding_fault)
    if response.status >= 300:
        return Outcome(_NOTHING, (), refusal_text(response, body))
    if response.fault is not None and not body:
        return Outcome(_NOTHING, (), response.fault)
    if looks_like_events(body):
        events: Sequence[StreamEvent] | None = split_events(slices)
    elif (strange := _no_json(response, body)) is not None:
        return Outcome(_NOTHING, (), response.fault or strange)
    else:
        events = _events_by_content_type(response, dialect, slices, body)
    reading = dialect.read_body(body) if events is None else dialect.read_stream(events)
    return Outcome(reading, events or (), response.fault or _reading_error(reading))


def timing_of(response: Response, outcome: Outcome, *, origin_ns: int, origin_unix: float) -> Timing | None:
    """None when nothing was written. `origin_ns` and `origin_unix` are the run's start on both clocks."""
    written_ns = response.written_ns
    if not written_ns:
        return None

    reading, events = outcome.reading, outcome.events
    ttft_s = first_content_s = None
    first_read_tokens = 0
    if reading.first_token is not None:
        first = events[reading.first_token]
        ttft_s = (first.stamp_ns - written_ns) / 1e9
        first_read_tokens = bisect_right(reading.token_events, first.read, key=lambda event: events[event].read)
    if reading.first_content is not None:
        first_content_s = (events[reading.first_content].stamp_ns - written_ns) / 1e9
    sent_at_s = (written_ns - origin_ns) / 1e9
    return Timing(
        at=origin_unix + sent_at_s,
        sent_at_s=sent_at_s,
        headers_s=None if response.headers_ns is None else (response.headers_ns - written_ns) / 1e9,
        ttft_s=ttft_s,
        first_content_s=first_content_s,
        total_s=(response.last_ns - written_ns) / 1e9 if response.complete else None,
        first_read_tokens=first_read_tokens,
    )


def decoded_slices(response: Response) -> tuple[list[Slice], str | None]:
    """The body without its content coding, each slice with the stamp of the read that made it readable.

    Servers are asked not to compress. One that does all the same is read, and shows in the kept header
    `content-encoding`: its times include the compressor's wish to fill a block.
    """
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding in ("", "identity"):
        return response.slices, None
    if coding not in _ZLIB_WINDOWS:
        return [], f"the reply is compressed as {one_line(coding)!r}, which was not asked for and cannot be read"
    slices = []
    room = LONGEST_REPLY_BYTES
    unpacker = zlib.decompressobj(_ZLIB_WINDOWS[coding])
    try:
        for number, (stamp_ns, read, data) in enumerate(response.slices):
            if number == 0 and coding == "deflate" and data[0] & 0x0F != 8:
                unpacker = zlib.decompressobj(-15)  # some servers leave the zlib wrapper out
            unpacked = unpacker.decompress(data, room + 1)  # 64 KB can unpack to 64 MB
            room -= len(unpacked)
            if room < 0:
                return [], TOO_LONG
            slices.append((stamp_ns, read, unpacked))
    except zlib.error as error:
        return slices, f"the reply's {coding} data is broken ({error})"
    return slices, None


def refusal_text(response: Response, body: bytes) -> str:
    """What a reply with an error status says, without the status itself where there is a message."""
    status = response.status or 0
    try:
        phrase = f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        phrase = f"HTTP {status}"
    if 300 <= status < 400:
        place = response.headers.get("location", "")
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
    response: Response, dialect: Dialect, slices: list[Slice], body: bytes
) -> Sequence[StreamEvent] | None:
    """None where the reply does not call itself a stream, or is an error body under the content type of one."""
    kind = response.headers.get("content-type", "")
    if dialect.framing == "aws-eventstream" and kind == aws_eventstream.CONTENT_TYPE:
        return aws_eventstream.split_events(slices)
    if "event-stream" in kind.lower() and not body[:256].lstrip().startswith(b"{"):
        return split_events(slices)
    return None


def _no_json(response: Response, body: bytes) -> str | None:
    """What a web site or a proxy answers where no model is: a page, or plain text."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
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
