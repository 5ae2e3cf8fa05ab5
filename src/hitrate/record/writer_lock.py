"""A file that one process holds locked for as long as it lives, so that others can tell whether it still does."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _try_lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class WriterLock:
    """The operating system lets go of it when the holder ends, however it ends."""

    def __init__(self, file: int) -> None:
        self._file = file

    @classmethod
    def take(cls, path: Path) -> WriterLock | None:
        """None where another holds it. OSError where the file cannot be made."""
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _try_lock(file)
        except OSError:
            os.close(file)
            return None
        return cls(file)

    def release(self) -> None:
        os.close(self._file)


def is_held(path: Path) -> bool:
    """Whether a living process holds the lock. A file that is not there is held by none."""
    if not path.exists():
        return False
    lock = WriterLock.take(path)
    if lock is None:
        return True
    lock.release()
    return False
