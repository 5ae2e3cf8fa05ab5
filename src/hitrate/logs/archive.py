"""The request bodies of a log, kept outside the memory, so that any earlier one can be read again."""

from __future__ import annotations

import contextlib
import tempfile
from array import array
from types import TracebackType

from hitrate.errors import HitrateError

IN_MEMORY = 4 << 20
"""Bytes up to which no file is made."""

_BUFFER = 1 << 18


class BodyArchive:
    """Bodies by index, in the order they were appended. Beyond `in_memory` bytes they lie in a temporary file without
    a name, which is gone with the archive or the process.

    Memory grows by eight bytes a body. HitrateError where the temporary file cannot be written or read, as on a full
    disk. A context manager; also closes itself when it is dropped.
    """

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        # Closed by `close`: the archive outlives this function.
        self._file = tempfile.SpooledTemporaryFile(max_size=in_memory, buffering=_BUFFER)  # noqa: SIM115
        self._ends = array("Q")
        self._at_end = True

    def append(self, body: bytes) -> int:
        """The index of the body."""
        end = self._ends[-1] if self._ends else 0
        try:
            if not self._at_end:
                self._file.seek(end)
                self._at_end = True
            self._file.write(body)
        except OSError as error:
            self._at_end = False
            raise _unusable("written", error) from None
        self._ends.append(end + len(body))
        return len(self._ends) - 1

    def __getitem__(self, index: int) -> bytes:
        """IndexError for an index that was not given out."""
        if not 0 <= index < len(self._ends):
            raise IndexError(f"no body {index} in an archive of {len(self._ends)}")
        start = self._ends[index - 1] if index else 0
        self._at_end = False
        try:
            self._file.seek(start)
            return self._file.read(self._ends[index] - start)
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


def _unusable(what: str, error: OSError) -> HitrateError:
    return HitrateError(
        f"the temporary file with the request bodies cannot be {what} ({error.strerror or error})",
        hint=f"Free some space in {tempfile.gettempdir()}, or name another folder in TMPDIR.",
    )
