"""A trace as it was read, in a file of its columns: read again in no time, by this process and by others.

Reading a trace means parsing JSON, of a log tokenising too, and standard input can be read but once. The file is read
chunk by chunk and not mapped, so that no process holds more than one chunk, whatever the size of its address space.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct

from hitrate.core.records import Records
from hitrate.core.trace import Chunk, Replayable, Trace
from hitrate.errors import HitrateError
from hitrate.simulating.shared_file import shared_file

_COLUMNS = "dqqqqq"
"""Type codes of `Chunk`'s columns, in their order."""
_ITEM = 8
"""Bytes of an entry, in each of them."""


class Piece(Struct, frozen=True):
    """A chunk in the file: its columns one behind the other, in the byte order of the machine."""

    requests: int
    blocks: int
    digest: str
    """SHA-256 of its bytes."""

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(_ITEM * entries for entries in self._entries())

    def chunk(self, data: bytes) -> Chunk:
        """ValueError for bytes that are not those of the piece."""
        if len(data) != self.size or sha256(data).hexdigest() != self.digest:
            raise ValueError("the bytes are not those that were written")
        view = memoryview(data)
        columns: list[Any] = []
        for code, entries in zip(_COLUMNS, self._entries(), strict=True):
            column = array(code)
            column.frombytes(view[: _ITEM * entries])
            columns.append(column)
            view = view[_ITEM * entries :]
        return Chunk(*columns)

    def _entries(self) -> tuple[int, ...]:
        return (self.requests,) * 4 + (self.requests + 1, self.blocks)


class PackedTrace(Struct, kw_only=True):
    """A `Trace` that can be read as often as need be while its file is there. Picklable: the file stays where it is."""

    facts: Replayable
    file: str
    pieces: tuple[Piece, ...]
    read: Records
    """Of the trace that was packed."""

    @property
    def requests(self) -> int:
        return sum(piece.requests for piece in self.pieces)

    @property
    def blocks(self) -> int:
        return sum(piece.blocks for piece in self.pieces)

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(piece.size for piece in self.pieces)

    @property
    def digest(self) -> str:
        """Names the content: equal for equal columns."""
        return sha256(" ".join(piece.digest for piece in self.pieces).encode()).hexdigest()

    def chunks(self) -> Iterator[Chunk]:
        """HitrateError where the file is gone, or not as it was written."""
        try:
            with Path(self.file).open("rb") as packed:
                for piece in self.pieces:
                    yield piece.chunk(packed.read(piece.size))
        except (OSError, ValueError) as error:
            raise self._unreadable(error) from None

    def data(self) -> Iterator[tuple[int, bytes]]:
        """The bytes of the file piece by piece, each with its place in it. Errors as for `chunks`."""
        at = 0
        try:
            with Path(self.file).open("rb") as packed:
                for piece in self.pieces:
                    yield at, packed.read(piece.size)
                    at += piece.size
        except OSError as error:
            raise self._unreadable(error) from None

    def records(self) -> Records:
        return self.read

    def _unreadable(self, error: Exception) -> HitrateError:
        why = getattr(error, "strerror", None) or error
        return HitrateError(f"{self.file}: the packed copy of {self.facts.path} cannot be read: {why}; run it again")


@contextmanager
def packed(trace: Trace) -> Iterator[PackedTrace]:
    """The trace read to its end, one chunk at a time, and packed into a temporary file that is gone afterwards.

    Errors of the trace as it has them; HitrateError where there is no room for the file.
    """
    with ExitStack() as kept:
        folder = tempfile.gettempdir()
        try:
            file, out = kept.enter_context(shared_file())
            pieces = tuple(_write(chunk, out) for chunk in trace.chunks())
            out.flush()
        except OSError as error:
            raise HitrateError(
                f"{trace.facts.path} cannot be packed into {folder}: {error.strerror or error}; it takes eight bytes a "
                "block, and TMPDIR names another folder for it"
            ) from None
        yield PackedTrace(facts=trace.facts, file=str(file), pieces=pieces, read=trace.records())


def _write(chunk: Chunk, out: BinaryIO) -> Piece:
    hashed = sha256()
    for column in chunk:
        hashed.update(column)
        out.write(column)
    return Piece(len(chunk.input_tokens), len(chunk.ids), hashed.hexdigest())
