"""How the events of a stream become bytes: server-sent events, or the binary messages of AWS."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

Faults = Mapping[str, Any]
"""The faults of a call, by name."""


class Event(NamedTuple):
    data: bytes
    name: bytes | None = None


class Framing(Protocol):
    content_type: bytes

    def frames(self, events: Sequence[Event], faults: Faults) -> bytes: ...

    def broken(self, framed: bytes, faults: Faults) -> bytes:
        """One event that is no JSON: the first half of the first one in `framed`."""
        ...

    def comment(self, faults: Faults) -> bytes:
        """What keeps a stream open without saying anything, b"" where there is no such thing."""
        ...


class ServerSentEvents:
    """https://html.spec.whatwg.org/multipage/server-sent-events.html"""

    content_type = b"text/event-stream; charset=utf-8"

    def frames(self, events: Sequence[Event], faults: Faults) -> bytes:
        end = _line_end(faults)
        colon = b":" if "no-space" in faults else b": "
        framed = b""
        for data, name in events:
            if name is not None:
                framed += b"event" + colon + name + end
            framed += b"data" + colon + data + end + end
        return framed

    def broken(self, framed: bytes, faults: Faults) -> bytes:
        end = _line_end(faults) * 2
        first = framed.split(end)[0]
        return first[: len(first) // 2] + end

    def comment(self, faults: Faults) -> bytes:
        return b": keep-alive" + _line_end(faults) * 2


def _line_end(faults: Faults) -> bytes:
    return b"\r\n" if "crlf" in faults else b"\n"


class AwsEventStream:
    """application/vnd.amazon.eventstream: lengths, their CRC-32, headers, payload, and the CRC-32 of it all.

    https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html. An event's name is its type; one that
    ends in "Exception" is sent as such.
    """

    content_type = b"application/vnd.amazon.eventstream"

    def frames(self, events: Sequence[Event], faults: Faults) -> bytes:
        return b"".join(_message(event.data, event.name or b"") for event in events)

    def broken(self, framed: bytes, faults: Faults) -> bytes:
        total, headers_length = struct.unpack_from(">II", framed)
        headers = framed[12 : 12 + headers_length]
        payload = framed[12 + headers_length : total - 4]
        return _framed(headers, payload[: len(payload) // 2])

    def comment(self, faults: Faults) -> bytes:
        return b""


def _message(payload: bytes, name: bytes) -> bytes:
    kind = b"exception" if name.endswith(b"Exception") else b"event"
    headers = {
        b":" + kind + b"-type": name,
        b":content-type": b"application/json",
        b":message-type": kind,
    }
    return _framed(b"".join(map(_header, headers, headers.values())), payload)


def _header(name: bytes, value: bytes) -> bytes:
    return struct.pack(">B", len(name)) + name + struct.pack(">BH", 7, len(value)) + value


def _framed(headers: bytes, payload: bytes) -> bytes:
    lengths = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    framed = lengths + struct.pack(">I", zlib.crc32(lengths)) + headers + payload
    return framed + struct.pack(">I", zlib.crc32(framed))


SSE = ServerSentEvents()
AWS_EVENTSTREAM = AwsEventStream()
