"""A file opened to be read: decompressed, buffered, able to show its start. For logs and traces alike."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from pathlib import Path
from typing import Any, BinaryIO, cast

from hitrate.errors import InputFileError
from hitrate.logs.buffered import UpToDamage
from hitrate.logs.lines import HEAD_BYTES

STANDARD_INPUT = "-"


def opened(path: str, given: BinaryIO | None) -> BinaryIO:
    """Buffered, decompressed, and able to show its head."""
    try:
        plain: Any
        if given is not None:
            plain = io.BufferedReader(cast(Any, given))
        else:
            plain = sys.stdin.buffer if path == STANDARD_INPUT else Path(path).open("rb", HEAD_BYTES)  # noqa: SIM115  who reads it closes it
    except OSError as error:
        raise InputFileError(path, f"cannot be opened ({error.strerror})") from None
    try:
        compressed = plain.peek(2)[:2] == b"\x1f\x8b"
    except OSError as error:  # a folder opens and does not read
        plain.close()
        raise InputFileError(path, f"cannot be read ({error.strerror})") from None
    if not compressed and given is None and path != STANDARD_INPUT:
        return cast(BinaryIO, plain)  # large enough a buffer as it is
    opened = _Decompressed(gzip.GzipFile(fileobj=plain)) if compressed else plain
    return cast(BinaryIO, UpToDamage(cast(Any, opened), HEAD_BYTES))


class _Decompressed(io.RawIOBase):
    """What a gzip file holds, up to where it is damaged: a file cut off, or followed by something else, keeps all lines
    in front of that. A line break stands in for what cannot be read, and reading on raises what is wrong."""

    def __init__(self, compressed: gzip.GzipFile) -> None:
        self._compressed = compressed
        self._fault: Exception | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._fault is not None:
            raise self._fault
        taken = 0
        while taken < len(buffer):
            try:
                data = self._compressed.read1(len(buffer) - taken)
            except (EOFError, zlib.error, OSError) as fault:
                self._fault = fault
                if self._compressed.tell() == 0:
                    raise
                data = b"\n"
            if not data:
                break
            buffer[taken : taken + len(data)] = data
            taken += len(data)
            if self._fault is not None:
                break
        return taken

    def close(self) -> None:
        self._compressed.close()
        super().close()


class FromUtf16:
    """A UTF-16 file, as PowerShell's `>` writes them, in UTF-8."""

    def __init__(self, stream: BinaryIO) -> None:
        # Half a surrogate pair becomes bytes that are no UTF-8, so that the record with it is refused, not repaired.
        self._text = io.TextIOWrapper(stream, "utf-16", errors="surrogatepass", newline="\n")

    def read1(self, size: int) -> bytes:
        """A line or the start of one, so that what comes before a fault is read."""
        return self._text.readline(size).encode("utf-8", "surrogatepass")

    def read(self, size: int) -> bytes:
        return self._text.read(size).encode("utf-8", "surrogatepass")

    def close(self) -> None:
        self._text.close()


def head_of(stream: BinaryIO, path: str) -> bytes:
    try:
        return cast(io.BufferedReader, stream).peek(HEAD_BYTES)[:HEAD_BYTES]
    except (EOFError, zlib.error, OSError) as error:
        raise InputFileError(path, f"cannot be decompressed: {error}") from None
