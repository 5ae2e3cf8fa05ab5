"""Responses without content: one JSON body, server-sent events, lines of JSON, or AWS event streams."""

from __future__ import annotations

import bisect
import re
import struct
import zlib
from collections.abc import Callable

from hitrate.core.sse import looks_like_events
from hitrate.logs.hashed.chunks import MARK
from hitrate.record.hashed_json import JsonHasher

Place = Callable[[int], int]
"""From how many bytes of the body had come to how many of the hashed one."""

_PRELUDE = struct.Struct(">III")
_CHECKSUM = struct.Struct(">I")
_EVENT_STREAM = "application/vnd.amazon.eventstream"
_FIELD = re.compile(rb"(data|event|id|retry)(: ?)(.*)", re.DOTALL)
_PROTOCOL = re.compile(rb"[\w.:/+\[\]-]{0,64}")


class StreamHasher:
    """Of the pieces of a stream only the lengths are kept: hashes of a few letters each would tell the text."""

    def __init__(self, hasher: JsonHasher) -> None:
        self._json = hasher
        self._around = (b"", b"")

    def hashed(self, body: bytes, content_type: str) -> tuple[bytes, Place]:
        if content_type.startswith(_EVENT_STREAM):
            return _joined(_messages(body, self._payload))
        if content_type.startswith("text/event-stream") or looks_like_events(body):
            return _joined([(line, self._line(line)) for line in body.splitlines(keepends=True)])
        lines = body.splitlines(keepends=True)
        if len(lines) > 1 and all(line.lstrip().startswith(b"{") and line.rstrip().endswith(b"}") for line in lines):
            return _joined([(line, self._piece(line)) for line in lines])
        return _joined([(body, self._whole(body))])

    def _line(self, line: bytes) -> bytes:
        bare = line.rstrip(b"\r\n")
        end = line[len(bare) :]
        field = _FIELD.fullmatch(bare)
        if field is None:
            return (bare if not bare else b":") + end  # a comment
        name, colon, value = field.groups()
        if name == b"data" and value.lstrip()[:1] in (b"{", b"["):
            value = self._piece(value) if value != b"[DONE]" else value
        elif _PROTOCOL.fullmatch(value) is None:
            value = f"{MARK}l{len(value)};".encode()
        return name + colon + value + end

    def _piece(self, data: bytes) -> bytes:
        """Most events of a stream differ in one text alone: what stood around that of the last one is looked for."""
        before, after = self._around
        if before and len(data) >= len(before) + len(after) and data.startswith(before) and data.endswith(after):
            text = data[len(before) : len(data) - len(after)]
            if text and not (b'"' in text or b"\\" in text):
                return b"%b%bl%d;%b" % (before, _MARK, len(text.decode("utf-8", "replace")), after)
        found = self._hashed(data, only_lengths=True)
        self._around = _around_text(data, found)
        return found

    def _payload(self, data: bytes) -> bytes:
        return self._piece(data) if data.lstrip()[:1] == b"{" else f'"{MARK}l{len(data)};"'.encode()

    def _whole(self, body: bytes) -> bytes:
        return self._hashed(body, only_lengths=False)

    def _hashed(self, data: bytes, *, only_lengths: bool) -> bytes:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return f"{MARK}l{len(data)};".encode()
        if text.lstrip("\ufeff \t\r\n")[:1] not in ("{", "["):
            return f"{MARK}l{len(text)};".encode() if text.strip() else data
        found = self._json.hashed(text, is_response=True, only_lengths=only_lengths)
        return found.encode("utf-8", "surrogatepass")


def _around_text(data: bytes, found: bytes) -> tuple[bytes, bytes]:
    """What stands in front of the one text of an event that was hashed, and behind it; nothing where it is not one."""
    lengths = _LENGTH.findall(found)
    if len(lengths) != 1 or found.count(_MARK) != 1:
        return b"", b""
    before, after = found.split(lengths[0])
    return (before, after) if data.startswith(before) and data.endswith(after) else (b"", b"")


_MARK = MARK.encode()
_LENGTH = re.compile(rb"~1:l\d+;")


def _joined(pieces: list[tuple[bytes, bytes]]) -> tuple[bytes, Place]:
    """The pieces' hashed forms as one body. What had come of a piece that was not whole is one byte of it at most."""
    ends, places = [0], [0]
    for piece, found in pieces:
        ends.append(ends[-1] + len(piece))
        places.append(places[-1] + len(found))

    def place(end: int) -> int:
        index = bisect.bisect_right(ends, end) - 1
        begun = end > ends[index] and index + 1 < len(places) and places[index + 1] > places[index] + 1
        return places[index] + begun

    return b"".join(found for _, found in pieces), place


def _messages(body: bytes, hashed: Callable[[bytes], bytes]) -> list[tuple[bytes, bytes]]:
    """The messages of an AWS event stream with their payloads hashed; what is none becomes its length."""
    pieces = []
    start = 0
    while start + _PRELUDE.size <= len(body):
        total, headers, _ = _PRELUDE.unpack_from(body, start)
        end = start + total
        payload_start, payload_end = start + _PRELUDE.size + headers, end - _CHECKSUM.size
        if end > len(body) or payload_start > payload_end:
            break
        framed = _framed(body[start + _PRELUDE.size : payload_start], hashed(body[payload_start:payload_end]))
        pieces.append((body[start:end], framed))
        start = end
    if start < len(body):
        pieces.append((body[start:], f"{MARK}l{len(body) - start};".encode()))
    return pieces


def _framed(headers: bytes, payload: bytes) -> bytes:
    lengths = struct.pack(">II", _PRELUDE.size + len(headers) + len(payload) + _CHECKSUM.size, len(headers))
    message = lengths + _CHECKSUM.pack(zlib.crc32(lengths)) + headers + payload
    return message + _CHECKSUM.pack(zlib.crc32(message))
