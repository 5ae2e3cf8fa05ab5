"""The binary event streams of AWS (application/vnd.amazon.eventstream), decoded from bytes.

A message is: total length, length of the headers, CRC-32 of these two (4 bytes each, big endian), headers, payload,
CRC-32 of all before it. A header is its name, a type, and a value of that type.
https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html
"""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode
from collections.abc import Iterable
from typing import NamedTuple

from hitrate.core.model import StreamEvent
from hitrate.targets.dialects.wire_json import object_of, parse_object, to_json

HeaderValue = bool | int | bytes | str

CONTENT_TYPE = "application/vnd.amazon.eventstream"
FAULT = "framingFault"
"""The event that stands for bytes that are no event stream."""

_PRELUDE = struct.Struct(">III")
_LENGTH = struct.Struct(">H")
_CHECKSUM = struct.Struct(">I")
_SHORTEST = _PRELUDE.size + _CHECKSUM.size
_LONGEST = (1 << 24) + (1 << 17) + _SHORTEST
"""16 MiB of payload and 128 KiB of headers are the most that AWS sends; a longer length is damage, not data."""

_FIXED = {2: struct.Struct(">b"), 3: struct.Struct(">h"), 4: struct.Struct(">i"), 5: struct.Struct(">q")}
_FIXED[8] = _FIXED[5]  # a timestamp, in milliseconds


class Message(NamedTuple):
    """`end` is where in the data the message ended."""

    end: int
    headers: dict[str, HeaderValue]
    payload: bytes


def decode(data: bytes) -> tuple[list[Message], str | None]:
    """The messages of a stream up to the first damage or its end, and what was wrong with it."""
    messages: list[Message] = []
    position = 0
    while position < len(data):
        if len(data) - position < _PRELUDE.size:
            return messages, "the event stream ends in the middle of a message"
        total, headers_length, checksum = _PRELUDE.unpack_from(data, position)
        if zlib.crc32(data[position : position + 8]) != checksum:
            return messages, f"the event stream is damaged at byte {position} (checksum of the lengths)"
        if not _SHORTEST + headers_length <= total <= _LONGEST:
            return messages, f"the event stream is damaged at byte {position} (a length of {total} bytes)"
        end = position + total
        if end > len(data):
            return messages, "the event stream ends in the middle of a message"
        payload_start = position + _PRELUDE.size + headers_length
        body_end = end - _CHECKSUM.size
        if zlib.crc32(data[position:body_end]) != _CHECKSUM.unpack_from(data, body_end)[0]:
            return messages, f"the event stream is damaged at byte {position} (checksum of the message)"
        headers = _headers(data[position + _PRELUDE.size : payload_start])
        if headers is None:
            return messages, f"the event stream is damaged at byte {position} (headers)"
        messages.append(Message(end, headers, data[payload_start:body_end]))
        position = end
    return messages, None


def split_events(slices: Iterable[tuple[int, int, bytes]]) -> list[StreamEvent]:
    """The events of one finished stream; a slice is (stamp_ns, read, bytes), in the order of arrival.

    The data of an event is a JSON object with the event's type as its one member, `{"messageStop": {...}}`, as AWS's
    own clients give it. Exceptions come alike, under their own type; errors without a type as `{"error": {...}}`, and
    bytes that cannot be decoded as a last `{"framingFault": {"message": ...}}`.
    """
    arrived = list(slices)
    messages, fault = decode(b"".join(part[2] for part in arrived))
    events: list[StreamEvent] = []
    unread = iter(arrived)
    stamp_ns = read = arrived_end = 0
    for message in messages:
        while arrived_end < message.end:
            stamp_ns, read, piece = next(unread)
            arrived_end += len(piece)
        events.append(StreamEvent(stamp_ns, read, _data(message)))
    if fault is not None:
        stamp_ns, read = arrived[-1][:2]
        events.append(StreamEvent(stamp_ns, read, to_json({FAULT: {"message": fault}})))
    return events


def invoked_chunk(data: bytes) -> bytes:
    """What a model says on its own wire, out of an event of Bedrock's InvokeModelWithResponseStream:
    `{"chunk": {"bytes": base64}}`. Any other event as it is."""
    chunk = parse_object(data)[0]
    wrapped = object_of((chunk or {}).get("chunk")).get("bytes")
    try:
        return b64decode(wrapped, validate=True) if isinstance(wrapped, str) else data
    except ValueError:
        return data


def _data(message: Message) -> bytes:
    headers = message.headers
    kind = headers.get(":event-type") or headers.get(":exception-type")
    if isinstance(kind, str):
        return b"{" + to_json(kind) + b":" + (message.payload or b"null") + b"}"
    error = {"code": headers.get(":error-code"), "message": headers.get(":error-message")}
    return to_json({"error": {name: str(value) for name, value in error.items()}})


def _headers(data: bytes) -> dict[str, HeaderValue] | None:
    headers: dict[str, HeaderValue] = {}
    position = 0
    try:
        while position < len(data):
            name_end = position + 1 + data[position]
            name = data[position + 1 : name_end].decode()
            kind = data[name_end]
            value, position = _value(data, kind, name_end + 1)
            headers[name] = value
    except (IndexError, struct.error, UnicodeDecodeError, ValueError):
        return None
    return headers


def _value(data: bytes, kind: int, start: int) -> tuple[HeaderValue, int]:
    """A header's value and where it ends. ValueError for a type that is not known or a value that is cut off."""
    if kind in (0, 1):
        return kind == 0, start
    if kind in _FIXED:
        return _FIXED[kind].unpack_from(data, start)[0], start + _FIXED[kind].size
    if kind == 9:
        size, length = 0, 16  # a UUID
    elif kind in (6, 7):
        size, length = _LENGTH.size, _LENGTH.unpack_from(data, start)[0]
    else:
        raise ValueError(f"header type {kind}")
    value = data[start + size : start + size + length]
    if len(value) < length:
        raise ValueError("cut off")
    return value.decode() if kind == 7 else value, start + size + length
