"""JSON values out of a stream one by one: elements of a large array, or documents one after the other.

Only the value at hand is in memory, with what was read ahead. Each value is left to the C scanner of `json`; where that
stops at the end of what was read, more is read and it starts again, each time with twice as much.
"""

from __future__ import annotations

import codecs
import gzip
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from hitrate.core.records import Remark, Skipped
from hitrate.core.spans import compact
from hitrate.logs.lines import DEEPEST, LONGEST_LINE, is_too_deep

_CHUNK = 1 << 18
_LONGEST_TOKEN = 16
"""Characters by which a literal or an escape can be cut off at the end of what was read."""

_skip_space = re.compile(r"[ \t\n\r\ufeff]*").match
_bracket_or_quote = re.compile(r'["{}\[\]]')
_rest_of_string = re.compile(r'(?:[^"\\]|\\.)*+("?)', re.DOTALL).match
_separator = re.compile(r"[,\]}]")
Path = tuple[str, ...]


class Row(Struct, frozen=True, kw_only=True):
    """One record of an export. `around` are the members beside the array it stands in, as far as they stand before it;
    `cells` says that all its values are text, as in a table."""

    line: int
    value: Any
    remarks: tuple[Remark, ...] = ()
    around: dict[str, Any] = {}
    cells: bool = False


def json_rows(stream: BinaryIO, arrays: tuple[Path, ...]) -> Iterator[Row | Skipped]:
    """The elements of each array of the stream: a document that is one, or the first of `arrays`, given as the names of
    members, that an object holds. An object that holds none of them is a row itself. Other values are rows too."""
    text = _Text(stream)
    try:
        while text.peek():
            if text.peek() in ",]}":  # commas between objects, as one gets by cutting an array; what a damaged one left
                text.step()
            else:
                yield from _document(text, arrays)
    except _Cut as cut:
        if text.fault is None:
            yield Skipped(line=cut.line, reason=cut.reason)
    if text.fault is not None:
        yield Skipped(line=text.line(), reason=f"the compressed file cannot be read on from here: {text.fault}")


def _document(text: _Text, arrays: tuple[Path, ...]) -> Iterator[Row | Skipped]:
    if text.peek() == "[":
        yield from _elements(text, {})
    elif text.peek() == "{" and text.opens(arrays):
        yield from _members(text, arrays, {})
    else:
        yield from _expanded(text.row({}), arrays)


def _expanded(row: Row | Skipped, arrays: tuple[Path, ...]) -> Iterator[Row | Skipped]:
    """The rows of a document whose array begins so late that it was read as a whole."""
    if isinstance(row, Skipped) or not isinstance(row.value, dict):
        yield row
        return
    for path in arrays:
        found: Any = row.value
        around: dict[str, Any] = {}
        for name in path:
            around = found if isinstance(found, dict) else {}
            found = around.get(name)
        if isinstance(found, list):
            yield from (Row(line=row.line, value=value, remarks=row.remarks, around=around) for value in found)
            return
    yield row


def _members(text: _Text, arrays: tuple[Path, ...], around: dict[str, Any]) -> Iterator[Row | Skipped]:
    """Walk an object down to the arrays; what stands beside them is kept as long as it is small."""
    text.step()
    while text.peek() != "}":
        name = text.name()
        below = tuple(path[1:] for path in arrays if path[0] == name)
        if () in below and text.peek() == "[":
            yield from _elements(text, around)
        elif any(below) and text.peek() == "{":
            yield from _members(text, tuple(filter(None, below)), around)
        else:
            found = text.row({})
            if isinstance(found, Skipped):
                yield found
            else:
                around[name] = found.value
        if text.peek() == ",":
            text.step()
        elif text.peek() != "}":
            raise text.cut(f"expected a comma or a closing brace, found {text.peek()[:1]!r}")
    text.step()


def _elements(text: _Text, around: dict[str, Any]) -> Iterator[Row | Skipped]:
    text.step()
    while text.peek() != "]":
        yield text.row(around)
        if text.peek() == ",":
            text.step()
        elif text.peek() != "]":
            raise text.cut(f"expected a comma or a closing bracket, found {text.peek()[:1]!r}")
    text.step()


class _Cut(Exception):
    """Nothing behind this place can be read."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


class _Text:
    """The stream as text, from the place that was read to on."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
        self._text = ""
        self._at = 0
        self._line = 1
        self._counted = 0
        self._ended = False
        self.fault: Exception | None = None
        """What is wrong with the stream behind all that could be read."""
        self._oddities: dict[str, None] = {}
        self._scan = json.JSONDecoder(object_pairs_hook=self._object, parse_constant=self._constant).raw_decode

    def line(self) -> int:
        """The line, from 1, of the next value."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def peek(self) -> str:
        """The next character that is no white space; "" at the end."""
        while True:
            found = _skip_space(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text) or not self._more(_CHUNK):
                return self._text[self._at : self._at + 1]

    def step(self) -> None:
        self._at += 1

    def cut(self, reason: str) -> _Cut:
        return _Cut(self.line(), reason if self.peek() else "cut off: the JSON value does not end")

    def opens(self, arrays: tuple[Path, ...]) -> bool:
        """Whether the object that starts here has one of these among the members that begin in what was read."""
        while len(self._text) - self._at < _CHUNK and self._more(_CHUNK):
            pass
        return any(_holds(self._text, self._at, path) for path in arrays)

    def name(self) -> str:
        """The name of a member, and the colon behind it."""
        start = self.line()
        found = self.row({}) if self.peek() == '"' else None
        if not isinstance(found, Row) or self.peek() != ":":
            raise self.cut("expected a member of an object") if found is None else _Cut(start, "expected a colon")
        self.step()
        return str(found.value)

    def row(self, around: dict[str, Any]) -> Row | Skipped:
        """The value that starts here; a damaged one is passed over."""
        if not self.peek():
            raise self.cut("")
        line = self.line()
        self._oddities = {}
        try:
            value, end = self._value(line)
        except _Damaged as fault:
            if not self._pass_over():
                raise _Cut(line, f"{fault}; nothing behind it can be read: its brackets do not close") from None
            return Skipped(line=line, reason=str(fault))
        raw = self._text[self._at : end]
        self._at = end
        if not is_utf8(raw):
            return Skipped(line=line, reason="not UTF-8, expected JSON in UTF-8")
        if is_too_deep(raw, value, DEEPEST):
            return Skipped(line=line, reason=f"nested more than {DEEPEST} levels deep")
        remarks = tuple(Remark(line=line, what=what) for what in self._oddities)
        return Row(line=line, value=value, remarks=remarks, around=around)

    def _value(self, line: int) -> tuple[Any, int]:
        while True:
            try:
                value, end = self._scan(self._text, self._at)
            except json.JSONDecodeError as error:
                end = len(self._text.rstrip()) if self._ended else len(self._text) - _LONGEST_TOKEN
                if error.pos < end and not error.msg.startswith("Unterminated string"):
                    raise _Damaged(f"expected JSON: {error.msg[:1].lower()}{error.msg[1:]}") from None
                if self._ended:
                    length = len(self._text) - self._at
                    raise _Cut(line, f"cut off: the JSON value does not end ({length:,} characters)") from None
            except RecursionError:
                raise _Damaged(f"nested more than {DEEPEST} levels deep") from None
            except ValueError as error:  # an integer of more digits than Python converts
                raise _Damaged(f"JSON that cannot be read: {error}") from None
            else:
                if end < len(self._text) or self._ended:
                    return value, end
            if len(self._text) - self._at > LONGEST_LINE:
                raise _Damaged(f"a record of more than {LONGEST_LINE:,} characters")
            self._more(max(_CHUNK, len(self._text) - self._at))

    def _pass_over(self) -> bool:
        """Go behind a damaged value, as far as brackets and quotes tell where it ends; whether they do."""
        if self._text[self._at : self._at + 1] not in ("{", "["):
            return self._go_to(_separator) != ""
        depth = 0
        while found := self._go_to(_bracket_or_quote):
            self.step()
            if found == '"' and not self._end_string():
                return False
            depth += (found in ("{", "[")) - (found in ("}", "]"))
            if depth == 0:
                return True
        return False

    def _go_to(self, pattern: re.Pattern[str]) -> str:
        """Go to the next character that the pattern finds; "" where none comes. What is passed is forgotten."""
        while (found := pattern.search(self._text, self._at)) is None:
            self._at = len(self._text)
            if not self._more(_CHUNK):
                return ""
        self._at = found.start()
        return found[0]

    def _end_string(self) -> bool:
        """Go behind the string that began in front of here; whether it ends."""
        while (found := _rest_of_string(self._text, self._at)) is not None:
            self._at = found.end()
            if found[1]:
                return True
            if not self._more(_CHUNK):
                break
        return False

    def _more(self, size: int) -> bool:
        if self._ended:
            return False
        try:
            data = self._stream.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as fault:
            self.fault, data = fault, b""
        self._ended = not data
        more = self._decode(data, final=not data)
        self.line()
        self._text = self._text[self._at :] + more
        self._at = self._counted = 0
        return bool(data)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            names = [name for name, _ in pairs]
            for name in found:
                if names.count(name) > 1:
                    self._oddities[f"member {name!r} is given {names.count(name)} times; the last value is used"] = None
        return found

    def _constant(self, name: str) -> float:
        self._oddities[f"{name} is not JSON; a counter with it is unknown"] = None
        return float(name)


class _Damaged(ValueError):
    """The value at hand is no JSON; what stands behind it may be."""


_member_or_bracket = re.compile(r'"((?:[^"\\]|\\.)*+)(?:"(\s*:\s*([\[{])?)?|\\?\Z)|([{}\[\]])', re.DOTALL)


def _holds(text: str, start: int, path: Path) -> bool:
    """Whether the object at `start` has the array `path`, as far as its text goes."""
    within: list[str | None] = []
    for match in _member_or_bracket.finditer(text, start):
        bracket = match[3] or match[4]
        if bracket == "[" and match[3] and [*within[1:], match[1]] == list(path):
            return True
        if bracket in ("{", "["):
            within.append(match[1] if match[3] else None)
        elif bracket in ("}", "]"):
            within.pop()
            if not within:
                return False
    return False


def is_utf8(text: str) -> bool:
    """Whether a text decoded with "surrogateescape" was UTF-8: bytes that are not became lone surrogates. One that JSON
    escapes is a backslash in its text."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def body_of(value: Any) -> tuple[Any, bytes]:
    """A JSON object out of a cell, a string or a decoded value, and its bytes; (None, b"") where it is none of these.

    Text is taken as it stands; of a decoded object the bytes are written anew without white space, keys in their order.
    """
    if isinstance(value, dict):
        try:
            return value, msgspec.json.encode(value)
        except (UnicodeEncodeError, OverflowError, RecursionError, ValueError):  # a lone surrogate, or a huge number
            return value, compact(value).encode("utf-8", "surrogatepass")
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            return None, b""
        if isinstance(found, dict):
            return found, value.strip().encode("utf-8", "surrogatepass")
    return None, b""


def unpacked(value: Any) -> Any:
    """What JSON in text says; any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value
