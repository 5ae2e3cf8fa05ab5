"""The request bodies of a log, kept outside the memory, so that any earlier one can be read again.

A conversation sends its history each time, so of a body that begins as an earlier one only the rest is kept: what is
not written takes neither space nor time.
"""

from __future__ import annotations

import contextlib
import tempfile
from array import array
from types import TracebackType

from hitrate.errors import HitrateError

IN_MEMORY = 4 << 20
"""Bytes up to which no file is made."""

_BUFFER = 1 << 18

_LEAST_FRONT = 512
"""Bytes that two bodies have to share in front for that to be worth a note."""

_USUAL_TAIL = 2
"""Bytes behind the messages of most bodies, in front of which they go on."""

_LONGEST_CHAIN = 64
"""Bodies that are read to make one from. The next one is kept as a whole."""


class BodyArchive:
    """Bodies by index, in the order they were appended. Beyond `in_memory` bytes they lie in a temporary file without
    a name, which is gone with the archive or the process.

    Memory grows by some thirty bytes a body. HitrateError where the temporary file cannot be written or read, as on a
    full disk. A context manager; also closes itself when it is dropped.
    """

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        # Closed by `close`: the archive outlives this function.
        self._file = tempfile.SpooledTemporaryFile(max_size=in_memory, buffering=_BUFFER)  # noqa: SIM115
        self._ends = array("Q")
        self._end = 0
        self._fronts = array("Q")
        """Bytes in front that are not kept with a body, but with the one in `_like`."""
        self._like = array("Q")
        self._chains = bytearray()
        self._at_end = True

    def append(self, body: bytes, like: int | None = None, known: bytes | None = None, front: int | None = None) -> int:
        """The index of the body. `like` is an earlier one that may begin as this one does, and `known` what it is,
        where that is at hand; or `front` the bytes that both begin with."""
        chain = 0
        if like is None or (chain := self._chains[like]) >= _LONGEST_CHAIN:
            front = 0
        elif front is None:
            front = 0 if known is None else shared_front(known, body)
        try:
            if not self._at_end:
                self._file.seek(self._end)
                self._at_end = True
            self._file.write(body[front:] if front else body)
        except OSError as error:
            self._at_end = False
            raise _unusable("written", error) from None
        self._end += len(body) - front
        self._ends.append(self._end)
        self._fronts.append(front)
        self._like.append(like if front and like is not None else 0)
        self._chains.append(chain + 1 if front else 0)
        return len(self._ends) - 1

    def __getitem__(self, index: int) -> bytes:
        """IndexError for an index that was not given out."""
        if not 0 <= index < len(self._ends):
            raise IndexError(f"no body {index} in an archive of {len(self._ends)}")
        pieces = [self._read(index, None)]
        front = self._fronts[index]
        while front:
            index = self._like[index]
            if front > (own := self._fronts[index]):
                pieces.append(self._read(index, front - own))
                front = own
        return b"".join(reversed(pieces))

    def _read(self, index: int, length: int | None) -> bytes:
        """What is kept of a body, the first `length` bytes of it or all."""
        start = self._ends[index - 1] if index else 0
        self._at_end = False
        try:
            self._file.seek(start)
            return self._file.read(self._ends[index] - start if length is None else length)
        except OSError as error:
            raise _unusable("read", error) from None

    def __len__(self) -> int:
        return len(self._ends)

    def close(self) -> None:
        """Free the file; the bodies are gone. May be called again."""
        with contextlib.suppress(OSError):  # what a full disk did not take is not wanted any more
            self._file.close()

    def __enter__(self) -> BodyArchive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self.close()


def shared_front(one: bytes, other: bytes) -> int:
    """Bytes that both begin with, or a few less; 0 where these are too few to matter."""
    length, view = len(one), memoryview(one)
    if length >= 2 * _LEAST_FRONT and other.startswith(view[: length - _USUAL_TAIL]):
        return length - _USUAL_TAIL
    if not other.startswith(view[:_LEAST_FRONT]) or min(length, len(other)) < _LEAST_FRONT:
        return 0
    same, apart = _LEAST_FRONT, min(len(one), len(other)) + 1
    while apart - same > _LEAST_FRONT:
        middle = (same + apart) // 2
        if other.startswith(view[same:middle], same):
            same = middle
        else:
            apart = middle
    return same


def _unusable(what: str, error: OSError) -> HitrateError:
    return HitrateError(
        f"the temporary file with the request bodies cannot be {what} ({error.strerror or error})",
        hint=f"Free some space in {tempfile.gettempdir()}, or name another folder in TMPDIR.",
    )
