"""The request bodies of a log, kept outside the memory, so that any earlier one can be read again.

A conversation sends its history each time, so of a body that begins as an earlier one only the rest is kept: what is
not written takes neither space nor time.
"""

from __future__ import annotations

import contextlib
import tempfile
from array import array
from types import TracebackType
from typing import BinaryIO, cast

from hitrate.errors import HitrateError

IN_MEMORY = 4 << 20
"""Bytes up to which no file is made."""

_LEAST_FRONT = 512
"""Bytes that two bodies have to share in front for that to be worth a note."""

_USUAL_TAIL = 2
"""Bytes behind the messages of most bodies, in front of which they go on."""

_AT_ONCE = 64
"""Bodies that are put together to be written."""

_LONGEST_CHAIN = 64
"""Bodies that are read to make one from. The next one is kept as a whole."""


class BodyArchive:
    """Bodies by index, in the order they were appended. Of what is kept of them, more than `in_memory` bytes lie in a
    temporary file without a name, which is gone with the archive or the process. Where `at_hand` is not 0, the
    newest bodies are kept at hand as they are: two at least, and at most two more than have `at_hand` bytes together.

    Memory grows by some thirty bytes a body. HitrateError where the temporary file cannot be written or read, as on a
    full disk. A context manager; also closes itself when it is dropped.
    """

    def __init__(self, in_memory: int = IN_MEMORY, at_hand: int = 0) -> None:
        self._in_memory = in_memory
        self._file: BinaryIO | None = None
        self._in_file = 0
        self._waiting: list[bytes] = []
        """What is kept of the newest bodies and is not in the file yet."""
        self._ends = array("Q")
        self._end = 0
        self._fronts = array("Q")
        """Bytes in front that are not kept with a body, but with the one in `_like`."""
        self._like = array("Q")
        self._chains = bytearray()
        self._half_at_hand = at_hand // 2
        self._newest: dict[int, bytes] = {}
        self._less_new: dict[int, bytes] = {}
        self._newest_bytes = 0

    def append(self, body: bytes, like: int | None = None, front: int | None = None) -> int:
        """The index of the body. `like` is an earlier one that may begin as this one does, and `front` the bytes that
        both begin with, where that is known."""
        if self._end - self._in_file >= self._in_memory:
            self._write()
        index = len(self._ends)
        chain = 0
        if like is None or (chain := self._chains[like]) >= _LONGEST_CHAIN:
            front = 0
        elif front is None:
            known = self._at_hand(like)
            front = 0 if known is None else shared_front(known, body)
        self._waiting.append(body[front:] if front else body)
        self._end += len(body) - front
        self._ends.append(self._end)
        self._fronts.append(front)
        self._like.append(like if front and like is not None else 0)
        self._chains.append(chain + 1 if front else 0)
        if self._half_at_hand:
            if self._newest_bytes > self._half_at_hand:
                self._less_new, self._newest, self._newest_bytes = self._newest, {}, 0
            self._newest[index] = body
            self._newest_bytes += len(body)
        return index

    def _at_hand(self, index: int) -> bytes | None:
        found = self._newest.get(index)
        return self._less_new.get(index) if found is None else found

    def __getitem__(self, index: int) -> bytes:
        """IndexError for an index that was not given out."""
        if not 0 <= index < len(self._ends):
            raise IndexError(f"no body {index} in an archive of {len(self._ends)}")
        if (at_hand := self._at_hand(index)) is not None:
            return at_hand
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
        waiting = index - len(self._ends) + len(self._waiting)
        if self._file is None or waiting >= 0:
            return self._waiting[waiting][:length]
        start = self._ends[index - 1] if index else 0
        length = self._ends[index] - start if length is None else length
        try:
            self._file.seek(start)
            return self._file.read(length)
        except OSError as error:
            raise _unusable("read", error) from None

    def _write(self) -> None:
        try:
            if self._file is None:
                # Closed by `close`: the archive outlives this function.
                self._file = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115
            self._file.seek(self._in_file)
            for start in range(0, len(self._waiting), _AT_ONCE):
                self._file.write(b"".join(self._waiting[start : start + _AT_ONCE]))
            self._file.flush()
        except OSError as error:
            raise _unusable("written", error) from None
        self._in_file = self._end
        self._waiting.clear()

    def __len__(self) -> int:
        return len(self._ends)

    def close(self) -> None:
        """Free the file; the bodies are gone. May be called again."""
        if self._file is not None:
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
