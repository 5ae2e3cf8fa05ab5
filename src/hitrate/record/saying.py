"""Lines for people, on standard error, which may be a file on a disk that is full."""

from __future__ import annotations

import contextlib
import sys


def say(line: str, kind: str = "note") -> None:
    """What cannot be said is dropped: it must end neither the traffic nor the recording that it is about."""
    with contextlib.suppress(OSError, ValueError):  # full, or closed
        print(f"{kind}: {line}", file=sys.stderr, flush=True)
