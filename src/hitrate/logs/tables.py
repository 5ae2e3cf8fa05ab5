"""Rows of an export, whatever it was written as: a table (CSV), JSONL, an array, or a document that holds one."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from hitrate.core.records import Skipped
from hitrate.logs.buffered import UpToDamage
from hitrate.logs.json_values import Path, Row, is_utf8, json_rows
from hitrate.logs.lines import HEAD_BYTES, LONGEST_LINE, first_objects, json_lines, opening

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_DELIMITERS = (",", ";", "\t")
_MOST_HEADS = 50


def rows(stream: BinaryIO, arrays: tuple[Path, ...] = ()) -> Iterator[Row | Skipped]:
    """Every record of the stream; a damaged one as `Skipped`, after which reading goes on. Memory holds one record.

    `arrays` are the members, by their names from the top, in which a document may hold its records.
    """
    try:
        head = stream.read(HEAD_BYTES)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        yield Skipped(line=1, reason=f"the compressed file cannot be read: {error}")
        return
    stream = UpToDamage(_Rejoined(head, stream), HEAD_BYTES)
    start = head.removeprefix(_BYTE_ORDER_MARK).lstrip()
    if not start.startswith((b"{", b"[")):
        yield from _cells(stream)
    elif start.startswith(b"[") or not _is_lines(start, arrays):
        yield from json_rows(stream, arrays)
    else:
        for line in json_lines(stream):
            if isinstance(line, Skipped):
                yield line
            else:
                yield Row(line=line.number, value=line.value, remarks=line.remarks)


def first_rows(head: bytes, arrays: tuple[Path, ...] = ()) -> list[dict[str, Any]]:
    """The records at the start of a file, to recognise its format by. Of one that is longer than the head, the members
    that have begun, as `lines.opening`; of a table, one record with its columns."""
    start = head.removeprefix(_BYTE_ORDER_MARK).lstrip()
    if start.startswith(b"["):
        return _leading(start[1:])
    if start.startswith(b"{"):
        if _is_lines(start, arrays):
            return first_objects(head)
        return [*_leading(start), *(found for path in arrays for found in _inside(start, path))]
    columns = _columns(start.split(b"\n", 1)[0].decode("utf-8", "replace"))[0]
    return [dict.fromkeys(columns)] if len(columns) > 1 else []


def _is_lines(start: bytes, arrays: tuple[Path, ...]) -> bool:
    """Whether a file that starts with an object has one a line."""
    first, line_break, _ = start.partition(b"\n")
    if line_break and not first.rstrip().endswith(b"}"):
        return False  # an object over several lines
    members = opening(first)
    return not any(members.get(path[0]) == ([] if len(path) == 1 else {}) for path in arrays)


def _leading(text: bytes) -> list[dict[str, Any]]:
    """The objects that a text starts with, with commas or without; of the last one maybe only its opening."""
    found: list[dict[str, Any]] = []
    left = text.decode("utf-8", "replace").lstrip()
    decoder = json.JSONDecoder()
    while left.startswith("{") and len(found) < _MOST_HEADS:
        try:
            value, end = decoder.raw_decode(left)
        except (ValueError, RecursionError):
            found.append(opening(left.encode("utf-8", "replace")))
            break
        found.append(value)
        left = left[end:].lstrip(" \t\r\n,")
    return found


def _inside(start: bytes, path: Path) -> list[dict[str, Any]]:
    place = 0
    for name in path:
        found = start.find(b'"%s"' % name.encode(), place)
        if found < 0:
            return []
        place = found + len(name) + 2
    rest = start[place:].lstrip(b" \t\r\n:")
    return _leading(rest[1:]) if rest.startswith(b"[") else []


class _Rejoined(io.RawIOBase):
    """A stream with what was read of it put back in front."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._head:
            self._head = self._rest.read(len(buffer))  # of UTF-16 that is so many characters, and more bytes
        data, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def _columns(header: str) -> tuple[list[str], str]:
    """The names of the columns, and what separates them: whichever gives the most."""
    header = header.strip("\r\n")
    try:
        split: list[tuple[list[str], str]] = [
            (next(_reader([header], delimiter), []), delimiter) for delimiter in _DELIMITERS
        ]
    except csv.Error:  # no table
        return [], ","
    names, delimiter = max(split, key=lambda pair: len(pair[0]))
    return [name.strip() for name in names], delimiter


def _reader(lines: Iterable[str], delimiter: str, *, strict: bool = False) -> Any:
    csv.field_size_limit(LONGEST_LINE)  # of the whole program; nothing else in it reads tables
    return csv.reader(lines, delimiter=delimiter, strict=strict)


def _cells(stream: BinaryIO) -> Iterator[Row | Skipped]:
    lines = _text_lines(stream)
    try:
        header = next(lines, "").removeprefix("\ufeff")
        names, delimiter = _columns(header)
        table = _reader(lines, delimiter, strict=True)
        while True:
            line = table.line_num + 2
            try:
                cells = next(table)
            except StopIteration:
                return
            except csv.Error as error:
                yield Skipped(line=line, reason=_csv_reason(str(error)))
                continue
            if cells:
                yield _row(names, cells, line)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        yield Skipped(line=None, reason=f"the compressed file cannot be read on: {error}")


def _row(names: list[str], cells: list[str], line: int) -> Row | Skipped:
    if len(cells) != len(names):
        return Skipped(line=line, reason=f"a row of {len(cells)} cells, expected {len(names)} as in the header")
    if not all(map(is_utf8, cells)):
        return Skipped(line=line, reason="not UTF-8, expected a table in UTF-8")
    return Row(line=line, value={name: cell for name, cell in zip(names, cells, strict=True) if cell}, cells=True)


def _csv_reason(error: str) -> str:
    if "field limit" in error:
        return f"a cell of more than {LONGEST_LINE:,} characters"
    return "cut off: a quoted cell does not end" if "unexpected end" in error else f"expected CSV: {error}"


def _text_lines(stream: BinaryIO) -> Iterator[str]:
    while line := stream.readline(LONGEST_LINE):
        yield line.decode("utf-8", "surrogateescape")
