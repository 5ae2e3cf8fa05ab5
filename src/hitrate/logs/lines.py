"""Lines of a log as JSON objects, with the place and the reason where one cannot be read.

A byte-order mark, CRLF and blank lines are no faults. NUL bytes around a record are what a crash or a rotation leaves
behind; they are dropped, and it is said. A line that is not UTF-8 is never repaired: a replaced byte would make two
prompts equal, or different, that are not.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, BinaryIO, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hitrate.core.records import Remark, Skipped
from hitrate.logs.shapes import kind

LONGEST_LINE = 64 << 20
"""Bytes. Longer ones are no request: vendors refuse bodies above 32 MB."""

LONGEST_DOCUMENT = 512 << 20
"""Bytes of a log that is one JSON document and has to be held as a whole."""

_PIECE = 1 << 17
"""Bytes of a file that are read at once."""

HEAD_BYTES = 1 << 16
"""How much of a file its format is recognised by."""

DEEPEST = 500
"""Levels of nesting; more than any request has, and what every JSON reader of this program can walk."""

NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for a text that it does not take as JSON."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LAST_WHITE_SPACE = 0x20


class Line(Struct, frozen=True, kw_only=True, gc=False):
    """One record: `data` as it stands in the file without white space around it, `value` decoded."""

    number: int
    data: bytes
    value: Any
    remarks: tuple[Remark, ...] = ()


def json_lines(stream: BinaryIO) -> Iterator[Line | Skipped]:
    """Every line that is not blank, decoded; or why it cannot be."""
    for number, offset, data in raw_lines(stream):
        yield data if isinstance(data, Skipped) else decoded(data, number, offset)


def json_objects(stream: BinaryIO) -> Iterator[Line | Skipped | Remark]:
    """The same for records that are objects, each behind the remarks on it."""
    for line in json_lines(stream):
        if isinstance(line, Skipped):
            yield line
            continue
        yield from line.remarks
        if isinstance(line.value, dict):
            yield line
        else:
            yield Skipped(line=line.number, reason=f"the record is {kind(line.value)}, expected an object")


def first_objects(head: bytes) -> list[dict[str, Any]]:
    """The objects among the first lines of a file, to recognise its format by.

    Of a first line that is longer than the head, the members that have begun: empty where they hold an object or array.
    """
    return list(_first_objects(head))


@lru_cache(maxsize=1)
def _first_objects(head: bytes) -> list[dict[str, Any]]:
    """Read once for all the formats that ask whether a file is theirs."""
    found = []
    for line in head.removeprefix(_BYTE_ORDER_MARK).splitlines()[:50]:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(value)
    return found if found or b"\n" in head.strip() else [opening(head)]


def opening(head: bytes) -> dict[str, Any]:
    """The members of an object that has only begun, as far as its start shows; values but empty {} and [] are None."""
    return dict(_opening(head))


@lru_cache(maxsize=2)
def _opening(head: bytes) -> dict[str, Any]:
    """Read once for all the formats that ask whether a file is theirs."""
    found: dict[str, Any] = {}
    depth = 0
    name: bytes | None = None
    for match in _TOKEN.finditer(head):
        token = match[0]
        if token in (b"{", b"["):
            if depth == 1 and name is not None:
                found[name.decode("utf-8", "replace")] = {} if token == b"{" else []
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and token.startswith(b'"') and token.endswith(b":"):
            name = token[1 : token.rindex(b'"')]
            found[name.decode("utf-8", "replace")] = None
            continue
        name = None
    return found


_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"(?:\s*:)?|\\?\Z)|[{}\[\],]|[^\s{}\[\],"]+', re.DOTALL)
"""A string that does not end is one token, else each quote in it would be taken for the start of another."""


def decoded(data: bytes, number: int, offset: int) -> Line | Skipped:
    """One record. `offset` is where `data` starts in the file."""
    remarks = []
    stripped = data.strip(b"\x00")
    if len(stripped) < len(data) and not _looks_like_utf16(data):
        remarks.append(Remark(line=number, what=f"{len(data) - len(stripped)} NUL bytes around the record dropped"))
        offset += data.index(stripped[:1]) if stripped else 0
        data = stripped.strip()
        if not data:
            return Skipped(line=number, reason="nothing but NUL bytes, which a crash or a full disk leaves behind")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        found_byte = f"byte {offset + error.start} of the file, 0x{data[error.start]:02x}"
        looks = "; the line looks like UTF-16" if _looks_like_utf16(data) else ""
        return Skipped(
            line=number,
            column=len(data[: error.start].decode("utf-8")) + 1,
            reason=f"not UTF-8 at {found_byte}, expected JSON in UTF-8{looks}",
        )
    if _looks_like_utf16(data):
        return Skipped(
            line=number, column=1, reason=f"UTF-16 from byte {offset} of the file on, expected JSON in UTF-8"
        )
    found = parsed(text)
    if isinstance(found, Fault):
        return Skipped(line=number, column=found.column, reason=found.reason)
    return Line(
        number=number,
        data=data,
        value=found.value,
        remarks=(*remarks, *(Remark(line=number, what=what) for what in found.oddities)),
    )


def read_document(stream: BinaryIO) -> str | Skipped:
    """The whole stream as text, or why it cannot be read."""
    try:
        data = stream.read(LONGEST_DOCUMENT + 1)
        data += stream.read(1)  # what is wrong behind the last byte is only said by reading on
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        return Skipped(line=None, reason=f"the compressed file is cut off: {error}")
    if len(data) > LONGEST_DOCUMENT:
        return Skipped(line=None, reason=f"more than {LONGEST_DOCUMENT:,} bytes in one JSON document, expected JSONL")
    try:
        return data.removeprefix(_BYTE_ORDER_MARK).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Skipped(line=line, reason=f"not UTF-8 at byte {error.start} of the file, expected JSON in UTF-8")


class Document(Struct, frozen=True, kw_only=True):
    text: str
    value: Any
    remarks: tuple[Remark, ...]


def json_document(stream: BinaryIO) -> Document | Skipped:
    """A stream that is one JSON document, or why it is none."""
    text = read_document(stream)
    if isinstance(text, Skipped):
        return text
    found = parsed(text)
    if isinstance(found, Fault):
        return Skipped(line=found.line, column=found.column, reason=found.reason)
    return Document(
        text=text, value=found.value, remarks=tuple(Remark(line=None, what=what) for what in found.oddities)
    )


class Fault(Struct, frozen=True):
    """Why a text is no JSON; places count from 1."""

    line: int
    column: int | None
    reason: str


class Parsed(Struct, frozen=True, gc=False):
    value: Any
    oddities: tuple[str, ...]


def parsed(text: str) -> Parsed | Fault:
    """A JSON text decoded, with what is odd about it: numbers that are none, members given twice."""
    oddities: dict[str, None] = {}

    def constant(name: str) -> float:
        oddities[f"{name} is not JSON; a counter with it is unknown"] = None
        return float(name)

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            names = [name for name, _ in pairs]
            for name in found:
                if names.count(name) > 1:
                    oddities[f"member {name!r} is given {names.count(name)} times; the last value is used"] = None
        return found

    try:
        value = json.loads(text, object_pairs_hook=members, parse_constant=constant)
    except json.JSONDecodeError as error:
        return Fault(error.lineno, error.colno, _json_reason(text, error))
    except RecursionError:
        return Fault(1, None, f"nested more than {DEEPEST} levels deep")
    except ValueError as error:  # an integer of more digits than Python converts
        return Fault(1, None, f"JSON that cannot be read: {error}")
    if is_too_deep(text, value, DEEPEST):
        return Fault(1, None, f"nested more than {DEEPEST} levels deep")
    return Parsed(value, tuple(oddities))


def _json_reason(text: str, error: json.JSONDecodeError) -> str:
    at_end = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
    if at_end and text.lstrip()[:1] in ("{", "["):
        return f"cut off: the JSON value does not end ({len(text):,} characters)"
    if text.lstrip()[:1] == "<":
        return "this is HTML or XML, expected a JSON object"
    return f"expected JSON: {error.msg[:1].lower()}{error.msg[1:]}"


def is_too_deep(text: str, value: Any, deepest: int) -> bool:
    """Whether a text, decoded to `value`, has more levels of nesting than that."""
    if text.count("[") + text.count("{") <= deepest:
        return False
    layer = [value]
    for _ in range(deepest):
        layer = [
            child
            for one in layer
            if isinstance(one, dict | list)
            for child in (one.values() if isinstance(one, dict) else one)
            if isinstance(child, dict | list)
        ]
        if not layer:
            return False
    return True


def _looks_like_utf16(data: bytes) -> bool:
    """JSON is mostly ASCII, so in UTF-16 every other byte of its start is NUL."""
    start = data[:64].removeprefix(b"\xff\xfe").removeprefix(b"\xfe\xff")
    return len(start) > 3 and (not any(start[1:8:2]) or not any(start[0:8:2])) and any(start[:8])


def raw_lines(stream: BinaryIO) -> Iterator[tuple[int, int, bytes | Skipped]]:
    """Number, offset of the first byte that is no white space, and the line without white space around it."""
    for number, offset, text, start, end in placed_lines(stream):
        yield number, offset, text if isinstance(text, Skipped) else text[start:end]


def placed_lines(stream: BinaryIO) -> Iterator[tuple[int, int, bytes | Skipped, int, int]]:
    """The same, each line not cut out, but given as a text with the line's start and end in it."""
    number = offset = 0
    try:
        for text, start, stop in _texts_of_lines(stream):
            before = offset - start  # bytes in front of the text
            offset = before + stop
            if isinstance(text, Skipped):
                number += 1
                yield number, before, replace(text, line=number), 0, 0
                continue
            if not number and text.startswith(_BYTE_ORDER_MARK):
                start = len(_BYTE_ORDER_MARK)
            while start < stop:
                number += 1
                end = text.find(b"\n", start, stop)
                if end > start and text[start] > _LAST_WHITE_SPACE < text[end - 1]:  # the usual one
                    yield number, before + start, text, start, end
                    start = end + 1
                    continue
                line = text[start : end + 1 or stop]
                if data := line.strip():
                    yield number, before + start + line.index(data[:1]), data, 0, len(data)
                start += len(line)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        reason = f"the compressed file cannot be read on from here: {error}"
        yield number + 1, offset, Skipped(line=number + 1, reason=reason), 0, 0


def _texts_of_lines(stream: BinaryIO) -> Iterator[tuple[bytes | Skipped, int, int]]:
    """Texts, each with start and end of one line or more in it; for a line that is too long, its bytes as end."""
    read = cast(io.BufferedIOBase, stream).read1
    begun: list[bytes] = []
    length = 0
    while data := read(_PIECE):
        stop = data.rfind(b"\n") + 1
        start = data.find(b"\n") + 1 if length else 0
        if start:
            yield _joined((*begun, data[:start]), length + start)
            begun, length = [], 0
        if start < stop:
            yield data, start, stop
        if stop < len(data):
            begun = [*begun, data[stop:]] if length <= LONGEST_LINE else []
            length += len(data) - stop
    if length:
        yield _joined(begun, length)


def _joined(pieces: Iterable[bytes], length: int) -> tuple[bytes | Skipped, int, int]:
    if length > LONGEST_LINE:
        reason = f"a line of {length:,} bytes, expected at most {LONGEST_LINE:,}"
        return Skipped(line=None, reason=reason), 0, length
    return b"".join(pieces), 0, length
