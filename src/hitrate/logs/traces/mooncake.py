"""Mooncake's traces: JSONL with the ids of a prompt's blocks, which are equal where all text up to their end is.

    {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, 48, ...]}

`timestamp` is in milliseconds, blocks have 512 tokens, and the last one has an id whether it is full or not
(https://github.com/kvcache-ai/Mooncake, FAST25-release/traces). Others write the same form with other block sizes, and
with a `session_id`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, BinaryIO

import msgspec

from hitrate.core.records import Skipped
from hitrate.core.trace import UNKNOWN, Replayable
from hitrate.logs.lines import first_objects
from hitrate.logs.traces.believed import believed
from hitrate.logs.traces.block_size import Layout, layout_of
from hitrate.logs.traces.chunks import Request, StreamedTrace
from hitrate.logs.traces.rows import Rows, first_rows

BLOCK_TOKENS = 512

Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]


class _Row(msgspec.Struct, gc=False):
    input_length: Count
    hash_ids: list[int]
    timestamp: float | None = None
    output_length: Count | None = None
    session_id: str | int | None = None


class Mooncake:
    name = "mooncake"
    about = "JSONL with input_length and hash_ids: a prompt's blocks by number (Mooncake, and what follows its form)"

    def matches(self, head: bytes) -> bool:
        return any(
            isinstance(one.get("hash_ids"), list) and "input_length" in one and "chat_id" not in one
            for one in first_objects(head)
        )

    def open(self, stream: BinaryIO, path: str, head: bytes, block_tokens: int | None) -> StreamedTrace:
        decoder = msgspec.json.Decoder(_Row)
        lengths = [(row.input_length, len(row.hash_ids)) for row in first_rows(head, decoder)]
        layout = layout_of(lengths, path, BLOCK_TOKENS, block_tokens)
        facts = Replayable(path=path, format=self.name, block_tokens=layout[0], has_partial_blocks=layout[1])
        return StreamedTrace(facts, stream, believed(_requests(Rows(stream, decoder), layout)))


def _requests(rows: Rows[_Row], layout: Layout) -> Iterator[Request | Skipped]:
    for line, row in rows:
        if isinstance(row, Skipped):
            yield row
        elif not layout.fits(row.input_length, len(row.hash_ids)):
            yield Skipped(line=line, reason=layout.misfit(row.input_length, len(row.hash_ids)))
        else:
            at_s = math.nan if row.timestamp is None else row.timestamp / 1000
            output = UNKNOWN if row.output_length is None else row.output_length
            yield Request(at_s, row.input_length, output, row.session_id, row.hash_ids, line)
