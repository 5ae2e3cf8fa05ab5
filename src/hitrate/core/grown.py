"""JSON arrays that grow at their end, as the messages of a conversation do from request to request.

Comparing bytes is an order of magnitude faster than splitting an array and hashing its elements. So the newest arrays
are kept as they stood, and of one that goes on only what is new is looked at.
"""

from __future__ import annotations

from typing import Generic, TypeVar

V = TypeVar("V")

MOST = 64
"""Arrays kept; conversations that run at the same time."""

MOST_BYTES = 6 << 20
"""Of the data that they stand in."""

_START = 128
"""Bytes at the start of an array by which those that it could go on are found; shorter ones are found by none."""


class _Array(Generic[V]):
    """`data[start:stop]`, up to the end of the last element. Not copied: who keeps the body does so anyway."""

    __slots__ = ("data", "key", "start", "stop", "value")

    def __init__(self, data: bytes, start: int, stop: int, value: V) -> None:
        self.data = data
        self.start = start
        self.stop = stop
        self.value = value
        self.key = data[start : start + _START] if stop - start >= _START else b""


class Grown(Generic[V]):
    """The arrays last seen, each with what was made of its elements. Bounded in number and bytes."""

    def __init__(self, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._arrays: dict[_Array[V], None] = {}
        """The one kept last at the end."""
        self._by_start: dict[bytes, list[_Array[V]]] = {}
        self._bytes = 0
        self._found: _Array[V] | None = None

    def find(self, data: bytes, start: int, end: int) -> tuple[V, bytes] | None:
        """What was made of an array that `data[start:end]` begins with, and an array of the further elements.

        That one is b"[]" for the same array again. It is not decoded: that has to be done before the whole is known to
        be an array.
        """
        self._found = None
        view = memoryview(data)
        for key in (data[start : start + _START], b""):
            for array in reversed(self._by_start.get(key, ())):
                stop = start + array.stop - array.start
                if stop < end and array.data.startswith(view[start:stop], array.start):
                    rest = data[stop:end].lstrip()
                    if rest == b"]":
                        self._found = array
                        return array.value, b"[]"
                    if rest.startswith(b",") and not rest[1:].lstrip().startswith(b"]"):
                        self._found = array
                        return array.value, b"[" + rest[1:]
        return None

    def keep(self, data: bytes, start: int, end: int, value: V) -> None:
        """An array, which was decoded and is not empty, in place of the one that the last `find` found."""
        if self._found is not None:
            self._drop(self._found)
            self._found = None
        if len(data) > self._most_bytes:
            return
        stop = end - 1
        while data[stop - 1] in b" \t\r\n":
            stop -= 1
        array = _Array(data, start, stop, value)
        self._arrays[array] = None
        self._by_start.setdefault(array.key, []).append(array)
        self._bytes += len(data)
        while len(self._arrays) > self._most or self._bytes > self._most_bytes:
            self._drop(next(iter(self._arrays)))

    def _drop(self, array: _Array[V]) -> None:
        del self._arrays[array]
        self._bytes -= len(array.data)
        alike = self._by_start[array.key]
        alike.remove(array)
        if not alike:
            del self._by_start[array.key]
