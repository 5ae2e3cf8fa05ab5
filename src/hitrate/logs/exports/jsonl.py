"""JSONL of hitrate's own: every field of every call, to be imported again. See `hitrate.logs.call_lines`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import BinaryIO

from hitrate.core.model import Call
from hitrate.logs.call_lines import line_of


def write(calls: Iterable[Call], out: BinaryIO, hashed: Callable[[], bool]) -> int:
    """How many calls were written. `hashed` is asked of each whether its content is not kept."""
    written = 0
    for call in calls:
        out.write(line_of(call, hashed=hashed()))
        written += 1
    return written
