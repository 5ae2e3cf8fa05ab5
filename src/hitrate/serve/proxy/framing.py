"""Where the body of a message ends. Bytes in; out come how many of them belong to it, and the body without its chunks.

httptools finds the end of a message too, but not its place in a read, which is needed to tell the bytes of one message
from those of the next without changing any.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

from hitrate.serve.proxy.heads import Malformed, RequestHead, ResponseHead

Keep = Callable[[bytes], object]
"""Takes the next bytes of the body, transfer coding removed (`list.append`)."""

LONGEST_LINE_BYTES = 64 * 1024
"""Of a chunk's size with its extensions, or of one trailer."""

_PLAIN_SIZE = re.compile(rb"[0-9a-fA-F]{1,15}")
_MOST_KNOWN = 4096
_known_sizes: dict[bytes, int] = {}
"""Of the chunks that came so far, as they were written: those of streams are much alike."""

_LAST = b"0\r\n\r\n"
"""The last chunk as most write it, without trailers."""

_SPLIT_FROM_BYTES = 1024
"""Fewer are a chunk or two."""

_TRAILER_LINE = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n]*\r\n")
_SIZE_LINE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")


class Framing(Protocol):
    complete: bool
    """The message is over."""
    until_close: bool
    """Only the end of the connection ends it."""

    def feed(self, data: bytes, keep: Keep | None) -> int:
        """How many bytes at the start of `data` belong to the message: all of them, unless it is over before.

        Raises Malformed.
        """
        ...


class Length:
    """So many bytes."""

    __slots__ = ("_left", "complete")
    until_close = False

    def __init__(self, length: int) -> None:
        self._left = length
        self.complete = not length

    def feed(self, data: bytes, keep: Keep | None) -> int:
        taken = len(data)
        if taken > self._left:
            taken = self._left
            data = data[:taken]
        if keep is not None and taken:
            keep(data)
        self._left -= taken
        self.complete = not self._left
        return taken


class UntilClose:
    """All there is until the connection ends."""

    __slots__ = ()
    complete = False
    until_close = True

    def feed(self, data: bytes, keep: Keep | None) -> int:
        if keep is not None:
            keep(data)
        return len(data)


class Chunked:
    """Chunks with their extensions, and trailers."""

    __slots__ = ("_expects", "_left", "_line", "complete")
    until_close = False

    def __init__(self) -> None:
        self.complete = False
        self._expects = _SIZE
        self._left = 0
        self._line = b""

    def feed(self, data: bytes, keep: Keep | None) -> int:
        at, length = 0, len(data)
        while at < length and not self.complete:
            if self._expects is _SIZE and not self._line:
                if length - at > _SPLIT_FROM_BYTES:
                    at = _feed_by_splitting(data, at, keep)
                at = _feed_whole_chunks(data, at, keep)
                if data.startswith(_LAST, at):
                    self.complete = True
                    return at + len(_LAST)
                if at == length:
                    break
            at = self._feed_data(data, at, keep) if self._left else self._feed_line(data, at)
        return at

    def _feed_data(self, data: bytes, at: int, keep: Keep | None) -> int:
        """Where the bytes of the chunk end, as far as they are here."""
        end = min(at + self._left, len(data))
        if keep is not None:
            keep(data[at:end])
        self._left -= end - at
        return end

    def _feed_line(self, data: bytes, at: int) -> int:
        """Where the line ends, as far as it is here."""
        end = data.find(b"\n", at) + 1 or len(data)
        line = self._line + data[at:end]
        if not line.endswith(b"\n"):
            if len(line) > LONGEST_LINE_BYTES:
                raise Malformed("a chunk's size or a trailer without an end")
            self._line = line
            return end
        self._line = b""
        if self._expects is _SIZE:
            match = _SIZE_LINE.fullmatch(line)
            if match is None:
                raise Malformed(f"no chunk begins with {line[:40]!r}")
            self._left = int(match[1], 16)
            self._expects = _END_OF_DATA if self._left else _TRAILER
        elif self._expects is _END_OF_DATA:
            if line != b"\r\n":
                raise Malformed("a chunk is longer than it says")
            self._expects = _SIZE
        elif line == b"\r\n":
            self.complete = True
        elif _TRAILER_LINE.fullmatch(line) is None:
            raise Malformed(f"{line[:40]!r} is no trailer")
        return end


def _feed_by_splitting(data: bytes, at: int, keep: Keep | None) -> int:
    """As `_feed_whole_chunks`, of many at once. `at` itself where there is a line end inside of one or a new size, so
    that the ends of lines are not those of chunks, or may not be."""
    lines = (data[at:] if at else data).split(b"\r\n")
    last = (len(lines) - 1) // 2 * 2  # a chunk is two lines, and the end of the second is here
    if last >= 2 and lines[last - 2] == b"0":
        last -= 2
    pieces = lines[1:last:2]
    if not pieces or list(map(len, pieces)) != list(map(_known_sizes.get, lines[:last:2])):
        return at
    if keep is not None:
        keep(b"".join(pieces))
    return len(data) - len(b"\r\n".join(lines[last:]))


def _feed_whole_chunks(data: bytes, at: int, keep: Keep | None) -> int:
    """Where the chunks end that stand there whole, as most of them do: a shortcut, not another rule."""
    while True:
        end_of_line = data.find(b"\r\n", at, at + 17)
        if end_of_line < 0:
            return at
        line = data[at:end_of_line]
        size = _known_sizes.get(line) or _size_of(line)
        start = end_of_line + 2
        end = start + size
        if not size or data[end : end + 2] != b"\r\n":
            return at
        if keep is not None:
            keep(data[start:end])
        at = end + 2


def _size_of(line: bytes) -> int:
    """0 for the last chunk, and for a line that is no plain size."""
    if _PLAIN_SIZE.fullmatch(line) is None:
        return 0
    size = int(line, 16)
    if size and len(_known_sizes) < _MOST_KNOWN:
        _known_sizes[line] = size
    return size


_SIZE, _END_OF_DATA, _TRAILER = "size", "end of data", "trailer"
"""The line that a chunked body has to go on with."""


def request_framing(head: RequestHead) -> Framing:
    return Chunked() if head.chunked else Length(head.content_length or 0)


def response_framing(head: ResponseHead, method: bytes) -> Framing:
    """RFC 9112, 6.3."""
    if method == b"HEAD" or head.status in (204, 304):
        return Length(0)
    if head.chunked:
        return Chunked()
    length = head.content_length
    if length is None or b"transfer-encoding" in head.names:
        return UntilClose()
    return Length(length)
