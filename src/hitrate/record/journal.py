"""The journal: exchanges on their way to the store, one append to a file each, so that a killed process loses none.

A journal is a folder of segments, `00000001.journal` and on; the highest number is the one written to. A segment is
frames one after another:

    4 bytes   kind, "hrEx" for an exchange or "hrGa" for a gap
    4 bytes   length of the payload, little endian
    4 bytes   CRC-32 of the payload, little endian
    payload   msgpack of the `Exchange` or the `Gap`

The writer holds `writer.lock` as long as it lives. Nothing is flushed to the disk by force: what was appended survives
the death of the process, not that of the machine.
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
import time
import zlib
from pathlib import Path

import msgspec

from hitrate.core.secret_headers import SECRET_HEADERS
from hitrate.errors import HitrateError
from hitrate.record.exchange import Exchange
from hitrate.record.writer_lock import WriterLock

FRAME = struct.Struct("<4sII")
EXCHANGE, GAP = b"hrEx", b"hrGa"
LOCK_NAME = "writer.lock"

DEFAULT_LIMIT_BYTES = 512 << 20
"""What may wait for the keeper. It is far behind long before."""

SEGMENT_BYTES = 8 << 20
_KEPT_BUFFER_BYTES = 1 << 20
_LOOK_AGAIN_S = 0.25
"""How often a full journal is looked at for room."""


class Gap(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Exchanges that were carried and could not be kept, noted once keeping them was possible again."""

    exchanges: int
    first_at: float
    """Unix time of the first of them, and of the last."""
    last_at: float
    reason: str


class Journal:
    """Writes; implements `Sink`. One process at a time writes to a folder, from any of its threads.

    `missed` counts exchanges that could not be kept, `trouble` is why, in one line; None while all is well.
    """

    def __init__(
        self, folder: Path, limit_bytes: int = DEFAULT_LIMIT_BYTES, *, segment_bytes: int = SEGMENT_BYTES
    ) -> None:
        """HitrateError where another process writes to the folder. A folder that cannot be written is no error but
        `trouble`, and is tried again with every exchange."""
        self.folder = folder
        self.missed = 0
        self.trouble: str | None = None
        self._limit_bytes = limit_bytes
        self._segment_bytes = min(segment_bytes, max(limit_bytes // 4, 1))
        self._encoder = msgspec.msgpack.Encoder()
        self._buffer = bytearray()
        self._guard = threading.Lock()
        self._writer_lock: WriterLock | None = None
        self._segment: int | None = None
        """Descriptor of the segment written to."""
        self._older_bytes = 0
        """Of the segments before it, when last looked at."""
        self._looked_at_s = float("-inf")
        self._gap: Gap | None = None
        self._given_up: str | None = None
        try:
            self._claim()
        except OSError as error:
            self.trouble = _reason(self.folder, error)

    def record(self, exchange: Exchange) -> bool:
        with self._guard:
            if self._given_up is not None:
                return self._miss(exchange, self._given_up)
            try:
                self._append(exchange)
            except (OSError, _Full) as error:
                return self._miss(exchange, _reason(self.folder, error))
            except Exception as error:  # a sink never raises: whatever it is, traffic goes on
                return self._miss(exchange, f"an exchange cannot be written down ({type(error).__name__}: {error})")
            self.trouble = None
            return True

    def give_up(self, reason: str) -> None:
        """Keep nothing from now on: nobody will take it in."""
        with self._guard:
            self._given_up = reason
            self._leave_segment()

    def close(self) -> None:
        """What `record` is given afterwards is not kept."""
        with self._guard:
            if self._given_up is None:
                self._note_gap_at_end()
                self._given_up = "the recording has ended"
            self._leave_segment()
            if self._writer_lock is not None:
                self._writer_lock.release()
                self._writer_lock = None

    def leave_to_parent(self) -> None:
        """In a process forked off: let go of what was inherited. The parent's hold on the folder is not touched, and no
        lock is taken, since a thread that is not in this process may have had it."""
        self._given_up = "the journal is the parent process's"
        self._leave_segment()
        if self._writer_lock is not None:
            self._writer_lock.release()
            self._writer_lock = None

    def _append(self, exchange: Exchange) -> None:
        if not SECRET_HEADERS.isdisjoint(exchange.request_headers) or not SECRET_HEADERS.isdisjoint(
            exchange.response_headers
        ):
            exchange = _without_secrets(exchange)
        buffer = self._buffer
        end = 0 if self._gap is None else self._frame(GAP, self._gap, 0)
        self._frame(EXCHANGE, exchange, end)
        try:
            self._write(buffer)
        finally:
            if len(buffer) > _KEPT_BUFFER_BYTES:
                self._buffer = bytearray()
        self._gap = None

    def _frame(self, kind: bytes, value: Exchange | Gap, start: int) -> int:
        """The frame from there to the end of the buffer, and where that is."""
        buffer = self._buffer
        payload = start + FRAME.size
        self._encoder.encode_into(value, buffer, payload)
        end = len(buffer)
        with memoryview(buffer) as view:
            FRAME.pack_into(view, start, kind, end - payload, zlib.crc32(view[payload:]))
        return end

    def _write(self, frames: bytearray) -> None:
        """In one call of the operating system, so that what another process reads is whole frames."""
        segment, size = self._open_segment(len(frames))
        written = 0
        try:
            written = os.write(segment, frames)
            while written < len(frames):  # what stopped it says so the next time
                written += os.write(segment, frames[written:])
        except OSError:
            if written:
                self._take_back(segment, size)
            raise

    def _take_back(self, segment: int, size: int) -> None:
        """Half a frame at the end of a segment: cut it off, or leave the segment, whose end then says so."""
        try:
            os.ftruncate(segment, size)
        except OSError:
            self._leave_segment()

    def _open_segment(self, more: int) -> tuple[int, int]:
        """A segment with room for so many bytes, and its size."""
        if self._segment is not None:
            state = os.fstat(self._segment)
            if state.st_nlink and (state.st_size + more <= self._segment_bytes or not state.st_size):
                self._check_room(state.st_size + more)
                return self._segment, state.st_size
            self._older_bytes += state.st_size
            self._check_room(more)
            self._leave_segment()
        self._claim()
        self._check_room(more)
        number = max(segment_numbers(self.folder), default=0) + 1
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        self._segment = os.open(segment_path(self.folder, number), flags, 0o600)
        self._older_bytes = folder_bytes(self.folder)
        return self._segment, 0

    def _check_room(self, wanted: int) -> None:
        """Raises `_Full`. The keeper deletes segments meanwhile, which is seen when it matters."""
        if self._older_bytes + wanted <= self._limit_bytes:
            return
        now = time.monotonic()
        if now - self._looked_at_s >= _LOOK_AGAIN_S:
            self._looked_at_s = now
            newest = 0 if self._segment is None else os.fstat(self._segment).st_size
            self._older_bytes = max(folder_bytes(self.folder) - newest, 0)
        if self._older_bytes + wanted > self._limit_bytes:
            raise _Full(self._limit_bytes)

    def _claim(self) -> None:
        """Make the folder and hold its lock, where that has not been done."""
        if self._writer_lock is not None and self.folder.exists():
            return
        self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # `parents` alone has the mode of others
        self.folder.mkdir(mode=0o700, exist_ok=True)
        lock = WriterLock.take(self.folder / LOCK_NAME, tries=10)
        if lock is None:
            raise HitrateError(f"{self.folder} is written by another process; a recording has a journal of its own")
        if self._writer_lock is not None:  # of a folder that was removed
            self._writer_lock.release()
        self._writer_lock = lock

    def _leave_segment(self) -> None:
        if self._segment is not None:
            os.close(self._segment)
            self._segment = None

    def _miss(self, exchange: Exchange, reason: str) -> bool:
        first_at = exchange.at if self._gap is None else self._gap.first_at
        missed = 1 + (0 if self._gap is None else self._gap.exchanges)
        self._gap = Gap(exchanges=missed, first_at=first_at, last_at=exchange.at, reason=reason)
        self.missed += 1
        self.trouble = reason
        return False

    def _note_gap_at_end(self) -> None:
        if self._gap is not None:
            with contextlib.suppress(OSError, _Full):
                self._frame(GAP, self._gap, 0)
                self._write(self._buffer)
                self._gap = None


class _Full(Exception):
    """The journal holds as many bytes as it may."""


def segment_path(folder: Path, number: int) -> Path:
    return folder / f"{number:08}.journal"


def segment_numbers(folder: Path) -> list[int]:
    """In order. OSError where the folder cannot be read."""
    return sorted(int(path.stem) for path in folder.iterdir() if path.suffix == ".journal" and path.stem.isdecimal())


def folder_bytes(folder: Path) -> int:
    total = 0
    for number in segment_numbers(folder):
        with contextlib.suppress(FileNotFoundError):  # the keeper deletes what it is done with
            total += segment_path(folder, number).stat().st_size
    return total


def _without_secrets(exchange: Exchange) -> Exchange:
    """What makes exchanges leaves these out; should it ever fail to, they still do not reach the disk."""
    return msgspec.structs.replace(
        exchange,
        request_headers={name: value for name, value in exchange.request_headers.items() if name not in SECRET_HEADERS},
        response_headers={
            name: value for name, value in exchange.response_headers.items() if name not in SECRET_HEADERS
        },
    )


def _reason(folder: Path, error: Exception) -> str:
    if isinstance(error, _Full):
        return f"the journal {folder} is full ({error.args[0] >> 20} MiB wait to be stored)"
    return f"the journal {folder} cannot be written: {getattr(error, 'strerror', None) or error}"
