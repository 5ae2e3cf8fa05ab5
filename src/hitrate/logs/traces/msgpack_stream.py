"""Messages of msgpack that stand one behind the other, with nothing between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

_FIXED = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4}
_FIXED |= {0xD3: 8, 0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
"""Bytes behind the first one, by it (https://github.com/msgpack/msgpack/blob/master/spec.md)."""
_SIZED = {0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0), 0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1), 0xD9: (1, 0)}
_SIZED |= {0xDA: (2, 0), 0xDB: (4, 0)}
"""Bytes of the length, and what comes besides as many bytes as it says."""
_COUNTED = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}
"""Bytes of the number of members, and values a member."""


def messages(stream: BinaryIO) -> Iterator[Any]:
    """Up to the first that is cut off, or is no msgpack."""
    data = b""
    while piece := stream.read(1 << 20):
        data += piece
        start = 0
        while (end := _end(data, start)) is not None:
            try:
                yield msgspec.msgpack.decode(data[start:end])
            except msgspec.DecodeError:
                return
            start = end
        data = data[start:]


def _end(data: bytes, start: int) -> int | None:
    """Where the value that begins at `start` ends; None where the data ends before."""
    values = 1
    while values:
        if start >= len(data):
            return None
        first = data[start]
        start += 1
        values -= 1
        if first in _FIXED:
            start += _FIXED[first]
        elif first in _SIZED:
            width, more = _SIZED[first]
            start += width + more + int.from_bytes(data[start : start + width])
        elif first in _COUNTED:
            width, each = _COUNTED[first]
            values += each * int.from_bytes(data[start : start + width])
            start += width
        elif 0x80 <= first < 0xA0:
            values += (first & 0x0F) * (2 if first < 0x90 else 1)
        elif 0xA0 <= first < 0xC0:
            start += first & 0x1F
    return start if start <= len(data) else None
