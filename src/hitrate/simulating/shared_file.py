"""A temporary file that other processes read, too.

A process that is killed removes nothing. So each file is locked by the process that made it, and the kernel takes the
lock away with the process: what can be locked is left behind, and goes when the next file is made. Files of other
machines in a folder that is shared are let be, since not all such folders share their locks.
"""

from __future__ import annotations

import os
import platform
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_PREFIX = f"hitrate-trace-{re.sub('[^A-Za-z0-9]', '_', platform.node())}-"


@contextmanager
def shared_file() -> Iterator[tuple[Path, BinaryIO]]:
    """A new one, open to be written, which is gone after the block. OSError where none can be made.

    What is to be read has to be flushed: only that tells what could not be written.
    """
    _remove_left_behind(Path(tempfile.gettempdir()))
    path, out = _new()
    try:
        yield path, out
    finally:
        for end in (out.close, path.unlink):
            with suppress(OSError):
                end()


def _new() -> tuple[Path, BinaryIO]:
    while True:
        handle, name = tempfile.mkstemp(prefix=_PREFIX, suffix=".columns")
        path, out = Path(name), os.fdopen(handle, "wb")
        with suppress(OSError):  # a file system without locks: then nobody takes this one for left behind, either
            _lock(handle, wait=True)
        if path.exists():  # or another process was quicker with a lock, and has removed it
            return path, out
        out.close()


def _remove_left_behind(folder: Path) -> None:
    for path in folder.glob(f"{_PREFIX}*.columns"):
        with suppress(OSError):
            handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
            try:
                if stat.S_ISREG(os.fstat(handle).st_mode):
                    _lock(handle, wait=False)
                    path.unlink()
            finally:
                os.close(handle)


def _lock(handle: int, *, wait: bool) -> None:
    """OSError where another process has it, or where there are no locks."""
    if sys.platform == "win32":
        raise OSError("no locks that last as long as a process")
    import fcntl

    fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
