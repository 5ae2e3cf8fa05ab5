"""Cut a request body into pieces that repeat from call to call, so that each message and tool is stored once."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from hitrate.core.lazy_pattern import lazy_pattern

SHORTEST_PART = 64
"""Bytes below which a top-level value is not worth a part of its own; elements of arrays always are parts."""

LONGEST_PART = 16 << 10
"""Bytes above which a value is cut into blocks, so that a text that grows at its end shares what it had before."""
BLOCK_BYTES = 4 << 10

SHORTEST_TEXT = 256
"""Bytes of a string in what a model said, from which it is worth a piece of its own."""

_STRING = lazy_pattern(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)

Value = list[bytes]
"""A value to be stored once: its bytes, in blocks where it is long."""


class Joined(NamedTuple):
    """Elements of an array, with the same bytes between any two of them."""

    separator: bytes
    values: list[Value]


Piece = bytes | Joined
"""Bytes that stand as they are between values, or values."""


def split_body(body: bytes) -> list[Piece]:
    """Pieces that make up `body`. One value if it is no JSON object in UTF-8.

    The raw values are found again by searching forward from the one before. A search that met the same bytes earlier,
    inside a key, would cut at an odd place; the pieces still make up the same body.
    """
    try:
        body.decode()
        members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return [Joined(b"", [blocks_of(body)])] if body else []
    pieces: list[Piece] = []
    position = 0
    for value in members.values():
        raw = bytes(value)
        start = body.find(raw, position)
        if start < 0:  # a duplicate key: its last value comes in the place of its first
            continue
        found = _pieces_of(raw)
        if found is not None:
            pieces += [body[position:start], *found]
            position = start + len(raw)
    pieces.append(body[position:])
    return _merged(pieces)


def cut_at_texts(value: bytes) -> list[bytes]:
    """The bytes around strings of JSON that are long, and those strings, in turn; the value alone where none is."""
    pieces = []
    position = 0
    for found in _STRING.finditer(value):
        start, end = found.span()
        if end - start >= SHORTEST_TEXT:
            pieces += [value[position:start], value[start:end]]
            position = end
    return [*pieces, value[position:]]


def _merged(pieces: list[Piece]) -> list[Piece]:
    """Bytes that follow on bytes, as one piece."""
    found: list[Piece] = []
    for piece in pieces:
        if found and isinstance(piece, bytes) and isinstance(last := found[-1], bytes):
            found[-1] = last + piece
        elif piece:
            found.append(piece)
    return found


def blocks_of(value: bytes) -> Value:
    if len(value) <= LONGEST_PART:
        return [value]
    return [value[start : start + BLOCK_BYTES] for start in range(0, len(value), BLOCK_BYTES)]


def elements_of(array: bytes) -> list[bytes] | None:
    """The elements of a JSON array as they stand; None for what is no array, or one of numbers or words, which are too
    small to be kept one by one."""
    try:
        elements = [bytes(element) for element in msgspec.json.decode(array, type=list[msgspec.Raw])]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return elements if elements and elements[0][:1] in b'{["' else None


def _pieces_of(raw: bytes) -> list[Piece] | None:
    """None for a value that is not worth pieces of its own."""
    elements = elements_of(raw) if raw.startswith(b"[") else None
    if elements is None:
        return [Joined(b"", [blocks_of(raw)])] if len(raw) >= SHORTEST_PART else None
    start = raw.find(elements[0], 1)
    separator = _separator(raw, elements, start)
    joined = separator.join(elements)
    if raw.startswith(joined, start):
        values = [blocks_of(element) for element in elements]
        return [raw[:start], Joined(separator, values), raw[start + len(joined) :]]
    pieces: list[Piece] = []
    position = 0
    for element in elements:  # written by hand, with other white space each time
        start = raw.find(element, position)
        pieces += [raw[position:start], Joined(b"", [blocks_of(element)])]
        position = start + len(element)
    return [*pieces, raw[position:]]


def _separator(array: bytes, elements: list[bytes], start: int) -> bytes:
    """What stands between the first two elements, the first of which starts there."""
    if len(elements) == 1:
        return b","
    end = start + len(elements[0])
    return array[end : array.find(elements[1][:1], end + 1)]
