"""Which format a trace is in, and the trace opened."""

from __future__ import annotations

from difflib import get_close_matches
from typing import BinaryIO

from hitrate.core.trace import Trace
from hitrate.errors import InputFileError, UsageError
from hitrate.logs.opened import head_of, opened
from hitrate.logs.refused import reason_against_table
from hitrate.logs.traces.bailian import Bailian
from hitrate.logs.traces.interface import TraceReader
from hitrate.logs.traces.kv_cache_tester import KvCacheTester
from hitrate.logs.traces.kv_events import KvEvents
from hitrate.logs.traces.mooncake import Mooncake
from hitrate.logs.traces.ragpulse import RagPulse
from hitrate.logs.traces.token_ids import TokenIds

TRACE_READERS: tuple[TraceReader, ...] = (
    RagPulse(),
    Bailian(),
    Mooncake(),
    KvCacheTester(),
    TokenIds(),
    KvEvents(),
)
"""The most particular first: each is asked in turn."""


def open_trace(
    path: str, format: str | None = None, *, block_tokens: int | None = None, stream: BinaryIO | None = None
) -> Trace | None:
    """A trace opened in the named format, or in the one its start looks like; None where it looks like no trace, which
    may be a log. "-" is standard input, and `stream` what was opened already; gzip is read as if it were not.

    `block_tokens`: see `TraceReader.open`. UsageError for an unknown format name, InputFileError for a file that is
    empty, cannot be opened, or holds nothing that a hit rate could be stated of.
    """
    chosen = None if format is None else trace_reader(format)
    stream = opened(path, stream)
    try:
        head = head_of(stream, path)
        if not head.strip():
            raise InputFileError(path, "the file is empty, expected a trace")
        reader = chosen or next((one for one in TRACE_READERS if one.matches(head)), None)
        if reader is None and (reason := reason_against_table(head)):
            raise InputFileError(path, f"arrivals only: {reason}")
        if reader is not None:
            return reader.open(stream, path, head, block_tokens)
    except BaseException:
        stream.close()
        raise
    stream.close()
    return None


def trace_reader(name: str) -> TraceReader:
    """UsageError with the known names when there is none of that name."""
    for reader in TRACE_READERS:
        if reader.name == name:
            return reader
    names = [reader.name for reader in TRACE_READERS]
    near = get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"no trace format called {name!r}; known: {', '.join(names)}{hint}")
