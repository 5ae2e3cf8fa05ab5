"""Find the large member of JSON objects that one program writes one after another, without reading them through.

The program puts the same bytes in front of the member and behind it each time: `"messages": [` and `], "tools":`. So
the place is looked up by these bytes. It is a guess, to be proven by whoever uses it: the value must be one JSON value,
and the object with a stand-in at that place must be an object with the stand-in as this member.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_KEPT = 8
"""Layouts kept in mind: a log can have several writers."""

_LONGEST_TAIL = 80
"""Bytes behind a value that are looked at for the next member's name."""


class _Layout(NamedTuple):
    head: bytes
    """From the quote in front of the member's name to the first byte of its value."""
    tail: bytes
    """From the last byte of the value to the colon behind the next name; where there is none, to the end."""
    is_last: bool


class Layouts:
    """Layouts learnt of one member. `guess`, prove, and `learn` where none fitted."""

    def __init__(self) -> None:
        self._known: list[_Layout] = []

    def guess(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Start and end of the value in `data`, by each layout that fits."""
        for layout in self._known:
            start = data.find(layout.head)
            if start < 0:
                continue
            start += len(layout.head) - 1
            if not layout.is_last:
                end = data.rfind(layout.tail, start) + 1
            elif data.endswith(layout.tail):
                end = len(data) - len(layout.tail) + 1
            else:
                continue
            if end > start:
                yield start, end

    def learn(self, data: bytes, name: str, value: bytes) -> tuple[int, int] | None:
        """Remember how member `name` with this value stands in `data`; the place found, None where there is none."""
        start = data.find(value)
        opening = data.rfind(b'"' + name.encode() + b'"', 0, max(start, 0))
        if start < 0 or opening < 0:
            return None
        end = start + len(value)
        colon = data.find(b":", end, end + _LONGEST_TAIL)
        is_last = colon < 0
        layout = _Layout(data[opening : start + 1], data[end - 1 :] if is_last else data[end - 1 : colon + 1], is_last)
        if len(layout.head) + len(layout.tail) <= 4 * _LONGEST_TAIL and layout not in self._known:
            self._known = [layout, *self._known[: _KEPT - 1]]
        return start, end
