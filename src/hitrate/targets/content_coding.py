"""Content codings of HTTP undone: what was compressed on its way, slice by slice, so that each keeps its moment.

gzip and deflate are read by the standard library, as is zstd from Python 3.14. Before that zstd needs the package
`zstandard` (or `backports.zstd`), and br needs `brotli` (or `brotlicffi`); they are used where they are installed.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable, Sequence
from typing import Any

Slice = tuple[int, int, bytes]
"""(stamp_ns, read, bytes): when it came, the number of the socket read, and what."""

LONGEST_BYTES = 64 * 1024 * 1024
"""Far more than any model says in one reply; 64 KB can unpack to 64 MB."""

TOO_LONG = f"the reply is longer than {LONGEST_BYTES // 1024**2} MiB, the most that is read of one"

_AT_A_TIME = 16 << 10

_Unpack = Callable[[bytes, int], bytes]
"""Takes bytes as they come and the most bytes to give back; raises what its library raises."""

_PACKAGES = {"br": "brotli", "zstd": "zstandard"}


class Unreadable(Exception):
    """The text is one line that says why the bytes cannot be unpacked."""


def unpacked_slices(slices: Sequence[Slice], coding: str) -> tuple[list[Slice], str | None]:
    """The slices without the content coding that a header names, and why there are no more, where they end early."""
    names = [name.strip().lower() for name in coding.split(",")]
    found = list(slices)
    for name in reversed([name for name in names if name not in ("", "identity")]):
        found, fault = _without(found, name)
        if fault is not None:
            return found, fault
    return found, None


def unpacked(data: bytes, coding: str) -> bytes:
    """A body that came in one piece. Raises Unreadable."""
    slices, fault = unpacked_slices([(0, 0, data)] if data else [], coding)
    if fault is not None:
        raise Unreadable(fault)
    return b"".join([part[2] for part in slices])


def _without(slices: Sequence[Slice], coding: str) -> tuple[list[Slice], str | None]:
    try:
        unpack = _unpacker(coding)
    except Unreadable as error:
        return [], str(error)
    found: list[Slice] = []
    room = LONGEST_BYTES
    for stamp_ns, read, data in slices:
        try:
            part = _within(unpack, data, room + 1)
        except Exception as error:  # each library has an error class of its own
            return found, f"the reply's {coding} data is broken ({error})"
        room -= len(part)
        if room < 0:
            return [], TOO_LONG
        found.append((stamp_ns, read, part))
    return found, None


def _within(unpack: _Unpack, data: bytes, most: int) -> bytes:
    """As much of what `data` unpacks to as is asked for; little is handed over at a time, since not every library can
    be told where to stop."""
    if len(data) <= _AT_A_TIME:
        return unpack(data, most)
    parts: list[bytes] = []
    for start in range(0, len(data), _AT_A_TIME):
        parts.append(unpack(data[start : start + _AT_A_TIME], most))
        most -= len(parts[-1])
        if most <= 0:
            break
    return b"".join(parts)


def _unpacker(coding: str) -> _Unpack:
    if coding in ("gzip", "x-gzip"):
        return _Zlib(31)
    if coding == "deflate":
        return _Zlib(None)
    if coding == "br":
        return _brotli()
    if coding == "zstd":
        return _zstd()
    raise Unreadable(f"the reply is compressed as {coding[:40]!r}, which cannot be read")


class _Zlib:
    """`window` None: deflate, with its zlib wrapper or, as some servers send it, without."""

    def __init__(self, window: int | None) -> None:
        self._window = window
        self._unpacker = None if window is None else zlib.decompressobj(window)

    def __call__(self, data: bytes, most: int) -> bytes:
        if self._unpacker is None:
            if not data:
                return b""
            self._window = 15 if data[0] & 0x0F == 8 else -15
            self._unpacker = zlib.decompressobj(self._window)
        found = self._unpacker.decompress(data, most)
        while self._unpacker.eof and self._window == 31 and self._unpacker.unused_data.startswith(b"\x1f\x8b"):
            rest = self._unpacker.unused_data  # a further member, as `gzip -c` of two files writes
            self._unpacker = zlib.decompressobj(31)
            found += self._unpacker.decompress(rest, max(most - len(found), 1))
        return found


def _brotli() -> _Unpack:
    module = _first_of("brotli", "brotlicffi")
    if module is None:
        raise Unreadable(_needs("br"))
    decompressor = module.Decompressor()
    process = getattr(decompressor, "process", None) or decompressor.decompress
    return lambda data, most: process(data)


def _zstd() -> _Unpack:
    module = _first_of("compression.zstd", "backports.zstd")
    if module is not None:
        return _Frames(module.ZstdDecompressor)
    module = _first_of("zstandard")
    if module is None:
        raise Unreadable(_needs("zstd"))
    return _Frames(module.ZstdDecompressor().decompressobj, is_bounded=False)


class _Frames:
    """Frame after frame, each with an unpacker of its own; `is_bounded`: it can be told how much to give."""

    def __init__(self, new: Callable[[], Any], *, is_bounded: bool = True) -> None:
        self._new = new
        self._is_bounded = is_bounded
        self._unpacker = new()

    def __call__(self, data: bytes, most: int) -> bytes:
        found: bytes = b""
        while data:
            if self._unpacker.eof:
                self._unpacker = self._new()
            bound = (max(most - len(found), 1),) if self._is_bounded else ()
            found += self._unpacker.decompress(data, *bound)
            data = self._unpacker.unused_data if self._unpacker.eof else b""
        return found


def _needs(coding: str) -> str:
    return (
        f"the reply is compressed as {coding!r}, which needs the package {_PACKAGES[coding]} to be read "
        f"(pip install {_PACKAGES[coding]}, or have the client not ask for it)"
    )


def _first_of(*modules: str) -> Any:
    """The first of these modules that is installed, None where none is."""
    for name in modules:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None
