"""Typed netstrings, as mitmproxy writes its flows: `LENGTH:DATA` and one byte that says of which type the data is.

`,` bytes, `;` text, `#` an integer, `^` a float, `!` a boolean, `~` nothing, `]` a list and `}` an object, both of
netstrings without anything between (https://tnetstrings.info; `;` is mitmproxy's own, mitmproxy/io/tnetstring.py).
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from hitrate.core.records import Skipped

_LONGEST_LENGTH = 12
"""Digits in front of the colon, as mitmproxy reads them."""

_DEEPEST = 100
_READ_OVER = 1 << 20


class NotTyped(ValueError):
    """The bytes are no typed netstring; the text says why."""


def netstrings(stream: BinaryIO, longest: int) -> Iterator[tuple[int, bytes | Skipped]]:
    """Number, from 1, and data of each object of a stream. One longer than `longest` is read over; where the stream is
    damaged nothing behind can be found, since lengths alone say where the next one starts."""
    number = 0
    while True:
        number += 1
        try:
            found = _next(stream, longest)
        except NotTyped as fault:
            yield number, Skipped(line=number, reason=f"flow {number}: {fault}; nothing behind it can be read")
            return
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield number, Skipped(line=number, reason=f"the compressed file cannot be read on from here: {error}")
            return
        if found is None:
            return
        if isinstance(found, int):
            reason = f"flow {number} has {found:,} bytes, expected at most {longest:,}"
            yield number, Skipped(line=number, reason=reason)
        else:
            yield number, found


def _next(stream: BinaryIO, longest: int) -> bytes | int | None:
    """The data of an object, its length if that is too long, None at the end."""
    digits = b""
    while (byte := stream.read(1)) != b":":
        if not byte and not digits.strip():
            return None
        if not (byte.isdigit() or (not digits and byte.isspace())) or len(digits) >= _LONGEST_LENGTH:
            raise NotTyped("cut off" if not byte else "no typed netstring, as mitmproxy writes them")
        digits += byte.strip()
    if not digits:
        raise NotTyped("no length")
    length = int(digits)
    if length > longest:
        left = length
        while left and (data := stream.read(min(left, _READ_OVER))):
            left -= len(data)
        if left or not stream.read(1):
            raise NotTyped("cut off")
        return length
    data = stream.read(length)
    kind = stream.read(1)
    if len(data) < length or not kind:
        raise NotTyped(f"cut off, {length:,} bytes expected")
    if kind != b"}":
        raise NotTyped(f"expected an object, found the type {kind!r}")
    return data


def members(data: bytes, wanted: frozenset[str] | None = None) -> dict[str, Any]:
    """The members of an object, those `wanted`, decoded. Raises NotTyped."""
    return _members(memoryview(data), wanted, 0)


def _members(data: memoryview, wanted: frozenset[str] | None, depth: int) -> dict[str, Any]:
    found = {}
    while data:
        name, _, data = _cut(data)
        value, kind, data = _cut(data)
        key = bytes(name).decode("utf-8", "replace")
        if wanted is None or key in wanted:
            found[key] = _value(value, kind, depth + 1)
    return found


def _cut(data: memoryview) -> tuple[memoryview, int, memoryview]:
    """The data of the first netstring, its type, and what stands behind it."""
    start = bytes(data[: _LONGEST_LENGTH + 1])
    digits, colon, _ = start.partition(b":")
    if not colon or not digits.isdigit():
        raise NotTyped("a damaged netstring")
    begin = len(digits) + 1
    end = begin + int(digits)
    if end >= len(data):
        raise NotTyped("a netstring that is longer than what holds it")
    return data[begin:end], data[end], data[end + 1 :]


def _value(data: memoryview, kind: int, depth: int) -> Any:
    if depth > _DEEPEST:
        raise NotTyped(f"nested more than {_DEEPEST} levels deep")
    if kind == ord("}"):
        return _members(data, None, depth)
    if kind == ord("]"):
        found = []
        while data:
            value, inner, data = _cut(data)
            found.append(_value(value, inner, depth + 1))
        return found
    return _plain(bytes(data), chr(kind))


def _plain(data: bytes, kind: str) -> Any:
    try:
        if kind == ",":
            return data
        if kind == ";":
            return data.decode("utf-8", "surrogateescape")
        if kind == "#":
            return int(data)
        if kind == "^":
            return float(data)
        if kind == "!":
            return {b"true": True, b"false": False}[data]
        if kind == "~" and not data:
            return None
    except (ValueError, KeyError):
        pass
    raise NotTyped(f"a damaged value of the type {kind!r}")
