"""A file that one process holds locked for as long as it lives, so that others can tell whether it still does."""

from __future__ import annotations

import os
import sys
import time
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
    def take(cls, path: Path, tries: int = 1) -> WriterLock | None:
        """None where another holds it. OSError where the file cannot be made.

        Who only looks whether it is held has it for a moment; further tries wait for that to be over.
        """
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        for attempt in range(tries):
            if attempt:
                time.sleep(0.02)
            try:
                _try_lock(file)
            except OSError:
                continue
            return cls(file)
        os.close(file)
        return None

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
