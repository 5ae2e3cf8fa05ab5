"""JSON arrays that grow at their end, as the messages of a conversation do from request to request.

Comparing bytes is an order of magnitude faster than splitting an array and hashing its elements. So the newest arrays
are kept as they stood, with the text around them, and of one that goes on only what is new is looked at.

Two things are told of a text. Where the place of its array is known (`find`), that it begins with the elements of an
earlier one. And without that (`find_whole`), that it is an earlier text with further elements in its array: all up to
the last element stands in front, all from the closing bracket on stands at its end, and between them is a comma with
what has yet to be decoded as elements. Where that can be decoded, the whole is proven: a JSON reader is behind an
element of the array as it was in the earlier text, reads further ones, and then the same end.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

V = TypeVar("V")

MOST = 128
"""Arrays kept: of conversations that run at the same time, and of the ones that ended or broke among them."""

MOST_BYTES = 6 << 20
"""Of the data that they stand in."""

_START = 128
"""Bytes at the start of an array, or of a text, by which those that it could go on are found; shorter arrays are found
by none."""

_LAST = 24
"""Bytes in front of the new elements that are compared first: conversations of one application begin alike."""

_WHITE_SPACE = b" \t\r\n"
_LAST_WHITE_SPACE = 0x20
"""No byte up to it can end a JSON value."""


class _Array(Generic[V]):
    """The array from `start` to the end of its last element at `stop`, and the text it stands in. Not copied: who keeps
    the body does so anyway."""

    __slots__ = ("beginning", "close", "data", "key", "start", "stop", "tail", "value")

    def __init__(self, data: bytes, start: int, stop: int, tail: bytes, value: V) -> None:
        self.data = data
        self.start = start
        self.stop = stop
        self.tail = tail
        self.close = -len(tail)
        """Where the array closes, from the end of the text."""
        self.beginning = data[:_START]
        self.key = data[start : start + _START] if stop - start >= _START else b""
        self.value = value


class Grown(Generic[V]):
    """The arrays last seen, each with what was made of it. Bounded in number and bytes."""

    def __init__(self, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._arrays: OrderedDict[_Array[V], None] = OrderedDict()
        """The one kept last at the end."""
        self._by_start: dict[bytes, list[_Array[V]]] = {}
        self._by_beginning: dict[bytes, list[_Array[V]]] = {}
        self._bytes = 0
        self._found: _Array[V] | None = None
        self.found_front = 0
        """The bytes that the text that the last `find_whole` looked for has in common with the one it found, up to the
        last element of that."""

    def find(self, data: bytes, start: int, end: int) -> tuple[V, bytes] | None:
        """What was made of an array that `data[start:end]` begins with, and an array of the further elements.

        That one is b"[]" for the same array again. It is not decoded: that has to be done before the whole is known to
        be an array.
        """
        self._found = None
        for array in (*self._by_start.get(data[start : start + _START], ()), *self._by_start.get(b"", ())):
            stop = start + array.stop - array.start
            last = array.data[max(array.start, array.stop - _LAST) : array.stop]
            if stop >= end or not data.startswith(last, stop - len(last)):
                continue
            if array.data.startswith(memoryview(data)[start:stop], array.start):
                new = _further(data, stop, end - 1)
                if new is not None and data[end - 1] == _BRACKET:
                    self._found = array
                    return array.value, new
        return None

    def find_whole(self, data: bytes) -> tuple[V, bytes] | None:
        """The same for a text that is an earlier one with further elements in its array, wherever that stands."""
        self._found = None
        for array in self._by_beginning.get(data[:_START], ()):
            stop = array.stop
            last = max(0, stop - _LAST)
            if (
                data[last:stop] == array.data[last:stop]
                and data.startswith(memoryview(array.data)[:stop])
                and data[array.close :] == array.tail
                and (new := _further(data, stop, len(data) + array.close)) is not None
            ):
                self._found = array
                self.found_front = stop
                return array.value, new
        return None

    def keep(self, data: bytes, start: int, end: int, value: V) -> None:
        """An array, which was decoded and is not empty, in place of the one that the last `find` found."""
        if self._found is not None:
            self._drop(self._found)
            self._found = None
        if len(data) > self._most_bytes:
            return
        array = _Array(data, start, _end_of_last(data, end - 1), data[end - 1 :], value)
        self._by_start.setdefault(array.key, []).append(array)
        self._by_beginning.setdefault(array.beginning, []).insert(0, array)
        self._arrays[array] = None
        self._bytes += len(data)
        self._forget()

    def go_on(self, data: bytes, value: V) -> None:
        """The text that the last `find_whole` looked for and found, whose new elements were decoded, in place of the
        earlier one."""
        array = self._found
        assert array is not None
        length, bracket = len(data), len(data) + array.close
        if not array.key or length > self._most_bytes:  # longer now, and to be found by its start
            self.keep(data, array.start, bracket + 1, value)
            return
        self._found = None
        self._arrays.move_to_end(array)
        self._bytes += length - len(array.data)
        array.data = data
        array.stop = bracket if data[bracket - 1] > _LAST_WHITE_SPACE else _end_of_last(data, bracket)
        array.value = value
        if self._bytes > self._most_bytes:
            self._forget()

    def _forget(self) -> None:
        while len(self._arrays) > self._most or self._bytes > self._most_bytes:
            self._drop(next(iter(self._arrays)))

    def _drop(self, array: _Array[V]) -> None:
        del self._arrays[array]
        self._bytes -= len(array.data)
        for index, key in ((self._by_start, array.key), (self._by_beginning, array.beginning)):
            alike = index[key]
            alike.remove(array)
            if not alike:
                del index[key]


_BRACKET, _COMMA = b"],"


def _further(data: bytes, stop: int, bracket: int) -> bytes | None:
    """What stands between the last known element of an array and its closing bracket, as an array; b"[]" where that is
    nothing, None where it cannot be further elements."""
    if bracket > stop + 1 and data[stop] == _COMMA and data[bracket - 1] > _LAST_WHITE_SPACE:  # the usual
        return b"[" + data[stop + 1 : bracket + 1]
    text = data[stop:bracket].strip(_WHITE_SPACE)
    if len(text) > 1 and text[0] == _COMMA:
        return b"[" + text[1:] + b"]"
    return None if text or bracket < stop else b"[]"


def _end_of_last(data: bytes, bracket: int) -> int:
    """The end of the last element of an array that closes at `bracket`."""
    while data[bracket - 1] <= _LAST_WHITE_SPACE:
        bracket -= 1
    return bracket
