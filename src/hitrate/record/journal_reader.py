"""Reads a journal while it is written, or after its writer died: every whole frame once, in order."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from hitrate.record.exchange import Exchange
from hitrate.record.journal import EXCHANGE, FRAME, GAP, LOCK_NAME, Gap, segment_numbers, segment_path
from hitrate.record.writer_lock import is_held

_READ_BYTES = 256 << 10

_decoders: dict[bytes, Callable[[memoryview], Exchange | Gap]] = {
    EXCHANGE: msgspec.msgpack.Decoder(Exchange).decode,
    GAP: msgspec.msgpack.Decoder(Gap).decode,
}


class Position(NamedTuple):
    """A place in a journal: all before it has been read."""

    segment: int = 0
    offset: int = 0


class Damage(msgspec.Struct, frozen=True):
    """Bytes that are no frame: at the end of what a writer wrote, a write that a kill cut off (`torn`); else worse."""

    what: str
    torn: bool


Entry = Exchange | Gap | Damage


def has_writer(folder: Path) -> bool:
    """Whether the process that writes this journal still lives."""
    return is_held(folder / LOCK_NAME)


START = Position()


def read_journal(folder: Path, position: Position = START) -> Iterator[tuple[Entry, Position]]:
    """What stands behind a position, each with the position behind it, up to the end as it is now.

    Stops in front of half a frame as long as that could become whole. A journal that is gone has nothing in it.
    OSError where it cannot be read.
    """
    segment, offset = position
    while (numbers := _numbers_from(folder, segment)) != []:
        if numbers[0] != segment:
            segment, offset = numbers[0], 0
        # Asked before reading: then all that will ever stand in the segment is there to be read.
        final = len(numbers) > 1 or not has_writer(folder)
        for entry, behind in _read_segment(segment_path(folder, segment), offset, final):
            yield entry, Position(segment, behind)
        if len(numbers) == 1:
            return
        segment, offset = numbers[1], 0


def _numbers_from(folder: Path, segment: int) -> list[int]:
    try:
        return [number for number in segment_numbers(folder) if number >= segment]
    except FileNotFoundError:
        return []


def _read_segment(path: Path, offset: int, final: bool) -> Iterator[tuple[Entry, int]]:
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        return
    try:
        while True:
            for entry, behind in _whole_frames(file, offset):
                yield entry, behind
                offset = behind
            size = os.fstat(file).st_size
            if offset >= size or not (final or _is_bad(file, offset, size)):
                return
            start = _next_frame(file, offset)
            if start is not None:
                yield Damage(f"{path.name}: {start - offset} bytes at {offset} are damaged", torn=False), start
                offset = start
            elif final:
                yield _damaged_end(path.name, offset, size, _frame_at(_read_at(file, offset, size - offset), 0)), size
                return
            else:
                return
    finally:
        os.close(file)


def _damaged_end(name: str, offset: int, size: int, frame: _Frame | None) -> Damage:
    if frame is None:
        return Damage(f"{name}: the last {size - offset} bytes are half a frame", torn=True)
    return Damage(f"{name}: {size - offset} bytes at {offset} are damaged", torn=False)


def _whole_frames(file: int, offset: int) -> Iterator[tuple[Entry, int]]:
    """Up to the first that is not whole or not right."""
    data = b""
    start = 0  # of what is not read yet, in `data`
    while True:
        frame = _frame_at(data, start)
        if frame is None:
            wanted = max(_READ_BYTES, _frame_bytes(data, start))
            more = _read_at(file, offset, wanted)
            if len(more) <= len(data) - start:
                return
            data, start = more, 0
            continue
        if not frame.is_right:
            return
        start += frame.size
        offset += frame.size
        yield _entry(frame), offset


class _Frame(NamedTuple):
    kind: bytes
    payload: memoryview
    is_right: bool

    @property
    def size(self) -> int:
        return FRAME.size + len(self.payload)


def _frame_at(data: bytes, start: int) -> _Frame | None:
    """None where there is not enough data to tell."""
    if len(data) - start < FRAME.size:
        return None
    kind, length, checksum = FRAME.unpack_from(data, start)
    payload = memoryview(data)[start + FRAME.size : start + FRAME.size + length]
    if kind not in _decoders:
        return _Frame(kind, payload, is_right=False)
    if len(payload) < length:
        return None
    return _Frame(kind, payload, is_right=zlib.crc32(payload) == checksum)


def _frame_bytes(data: bytes, start: int) -> int:
    if len(data) - start < FRAME.size:
        return 0
    return int(FRAME.size + FRAME.unpack_from(data, start)[1])


def _entry(frame: _Frame) -> Entry:
    try:
        entry: Entry = _decoders[frame.kind](frame.payload)
    except msgspec.MsgspecError as error:  # written by another version
        return Damage(f"a frame is not understood ({error})", torn=False)
    return entry


def _is_bad(file: int, offset: int, size: int) -> bool:
    """Whether what stands there will not become a frame, however long one waits.

    A frame that reaches to the end of the file may still be on its way into it.
    """
    frame = _frame_at(_read_at(file, offset, size - offset), 0)
    return frame is not None and not frame.is_right and offset + frame.size < size


def _next_frame(file: int, offset: int) -> int | None:
    """Where the next right frame starts behind one that is not."""
    data = _read_at(file, offset, os.fstat(file).st_size - offset)
    starts = [place for kind in _decoders for place in _places(data, kind)]
    for place in sorted(starts):
        frame = _frame_at(data, place)
        if frame is not None and frame.is_right:
            return offset + place
    return None


def _places(data: bytes, mark: bytes) -> Iterator[int]:
    place = data.find(mark, 1)
    while place >= 0:
        yield place
        place = data.find(mark, place + 1)


def _read_at(file: int, offset: int, wanted: int) -> bytes:
    """So many bytes from there, fewer at the end of the file."""
    os.lseek(file, offset, os.SEEK_SET)
    pieces = []
    while wanted > 0 and (piece := os.read(file, wanted)):
        pieces.append(piece)
        wanted -= len(piece)
    return b"".join(pieces)
