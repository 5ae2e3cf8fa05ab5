"""Lines of JSON decoded many at a time into a struct, and one by one where something is wrong with them."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Generic, TypeVar

import msgspec

from hitrate.core.records import Skipped
from hitrate.logs.lines import HEAD_BYTES, LONGEST_LINE

Row = TypeVar("Row")

_PIECE = 1 << 22
"""Bytes decoded at a time."""


class Rows(Generic[Row]):
    """`(line, row)` of every line that is not blank; `(line, Skipped)` of one that cannot be used."""

    def __init__(self, stream: BinaryIO, decoder: msgspec.json.Decoder[Row]) -> None:
        self._stream = stream
        self._decoder = decoder

    def __iter__(self) -> Iterator[tuple[int, Row | Skipped]]:
        number = 1
        rest = b""
        at_start = True
        while True:
            try:
                data = self._stream.read(_PIECE)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                yield from self._piece(rest, number)
                number += rest.count(b"\n")
                yield number, Skipped(line=number, reason=f"the compressed file cannot be read on from here: {error}")
                return
            piece = rest + data
            if at_start:
                piece, at_start = piece.removeprefix(b"\xef\xbb\xbf"), False
            if not data:
                yield from self._piece(piece, number)
                return
            end = piece.rfind(b"\n") + 1
            piece, rest = piece[:end], piece[end:]
            if len(rest) > LONGEST_LINE:
                line = number + piece.count(b"\n")
                yield line, Skipped(line=line, reason=f"a line of more than {LONGEST_LINE:,} bytes; nothing after it")
                return
            yield from self._piece(piece, number)
            number += piece.count(b"\n")

    def _piece(self, piece: bytes, number: int) -> Iterator[tuple[int, Row | Skipped]]:
        if not piece or piece.isspace():
            return
        try:
            rows = self._decoder.decode_lines(piece)
        except (msgspec.DecodeError, UnicodeDecodeError):
            rows = None
        if rows is not None and len(rows) == piece.count(b"\n") + (not piece.endswith(b"\n")):
            yield from enumerate(rows, number)
            return
        for line, text in enumerate(piece.split(b"\n"), number):
            if text and not text.isspace():
                yield line, self._row(text, line)

    def _row(self, text: bytes, line: int) -> Row | Skipped:
        try:
            return self._decoder.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return Skipped(line=line, reason=f"cannot be used: {error}")


def first_rows(head: bytes, decoder: msgspec.json.Decoder[Row]) -> list[Row]:
    """The rows among the whole lines of a file's start; where its first line is longer than that, none."""
    whole = head[: head.rfind(b"\n") + 1] if len(head) >= HEAD_BYTES else head
    return [row for _, row in Rows(io.BytesIO(whole), decoder) if not isinstance(row, Skipped)]
