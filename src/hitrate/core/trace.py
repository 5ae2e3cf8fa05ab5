"""A request trace whose prompts are known as blocks: what replay and planning work on.

Columns instead of a struct per request, because a trace has millions of blocks. They come in chunks, so that a trace
larger than memory can be replayed by whatever only needs to see each request once.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from msgspec import Struct

from hitrate.core.records import Records

UNKNOWN = -1
"""In a column of integers: not known, or none."""


class Chunk(NamedTuple):
    """Some requests in the order they arrived; every column has an entry a request, `starts` one more."""

    at_s: array[float]
    """Seconds since the first request of the trace; never falling. NaN where the trace gives no times."""
    input_tokens: array[int]
    output_tokens: array[int]
    """`UNKNOWN` where the trace does not say."""
    sessions: array[int]
    """A number for each session, the same throughout the trace; `UNKNOWN` where the trace knows of none."""
    starts: array[int]
    """Of each request's blocks in `ids`, and behind the last one's end."""
    ids: array[int]
    """Blocks by number, from 0, in the order of their first occurrence. Equal numbers anywhere in the trace are equal
    text behind equal text: ids that a file counts anew for each session were made apart."""


class Replayable(Struct, frozen=True, kw_only=True):
    """What is known of a trace before it is read."""

    path: str
    format: str
    block_tokens: int
    """Tokens of a full block."""
    has_partial_blocks: bool
    """Whether a last block that is not full has an id too: ceil(input / block) ids, as in Mooncake; else floor."""
    ordered: bool = True
    """False: prompts are bags of blocks in an order of the trace's own, so only a definition that says so applies."""


class Trace(Protocol):
    facts: Replayable

    def chunks(self) -> Iterator[Chunk]:
        """All requests, once. InputFileError as for logs."""
        ...

    def records(self) -> Records:
        """What became of the file's records; complete when the chunks were read."""
        ...
