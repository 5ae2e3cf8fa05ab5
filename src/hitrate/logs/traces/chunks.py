"""Requests gathered into chunks: ids numbered in the order they first occur, times counted from the first request."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

from hitrate.core.numerals import counted
from hitrate.core.records import RecordCount, Records, Remark, Skipped
from hitrate.core.trace import UNKNOWN, Chunk, Replayable
from hitrate.errors import InputFileError
from hitrate.logs.traces.clock import Clock
from hitrate.logs.traces.numbering import BlockNumbers, Numbers

_BLOCKS = 1 << 18
_REQUESTS = 1 << 14
"""A chunk ends behind the request that reaches one of these."""


class Request(NamedTuple):
    """`ids` are names of blocks: the same name, the same text behind the same text. `at_s` is NaN where not known."""

    at_s: float
    input_tokens: int
    output_tokens: int
    session: object
    """None where the trace knows of no sessions."""
    ids: Iterable[object]
    line: int | None = None
    """Of the file, from 1, where it is known."""


def in_chunks(requests: Iterable[Request | Skipped | Remark], count: RecordCount) -> Iterator[Chunk]:
    """All requests, in their order; a time that runs back is set to that of the request before, and it is said."""
    blocks, sessions = BlockNumbers(), Numbers()
    clock = Clock()
    chunk = _empty()
    for request in requests:
        if isinstance(request, Skipped):
            count.skip(request)
            continue
        if isinstance(request, Remark):
            count.remark(request)
            continue
        count.use()
        chunk.at_s.append(clock.since_first(request.at_s, request.line))
        chunk.input_tokens.append(request.input_tokens)
        chunk.output_tokens.append(request.output_tokens)
        chunk.sessions.append(UNKNOWN if request.session is None else sessions[request.session])
        chunk.ids.extend(blocks.of(request.ids))
        chunk.starts.append(len(chunk.ids))
        if len(chunk.ids) >= _BLOCKS or len(chunk.input_tokens) >= _REQUESTS:
            yield chunk
            chunk = _empty()
    if chunk.input_tokens:
        yield chunk
    for remark in clock.remarks():
        count.remark(remark)


def _empty() -> Chunk:
    return Chunk(array("d"), array("q"), array("q"), array("q"), array("q", [0]), array("q"))


class StreamedTrace:
    """A trace whose requests come one after another from a stream; `requests` gives them, once."""

    def __init__(self, facts: Replayable, stream: BinaryIO, requests: Iterable[Request | Skipped | Remark]) -> None:
        self.facts = facts
        self._stream = stream
        self._requests = requests
        self._count = RecordCount()

    def chunks(self) -> Iterator[Chunk]:
        try:
            yield from in_chunks(self._requests, self._count)
        except OSError as error:
            raise InputFileError(self.facts.path, f"cannot be read on: {error.strerror or error}") from None
        finally:
            self._stream.close()
        found = self.records()
        if not found.used:
            why = f", the first: {found.skipped[0].reason}" if found.skipped else ""
            raise InputFileError(self.facts.path, f"of {counted(found.read, 'request')} none can be used{why}")

    def records(self) -> Records:
        return self._count.records()
