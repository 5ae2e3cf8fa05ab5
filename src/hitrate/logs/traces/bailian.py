"""Alibaba Bailian's traces (Qwen): JSONL of chats, with salted hashes of blocks of 16 tokens.

    {"chat_id": 159, "parent_chat_id": 55, "timestamp": 61.114, "input_length": 521, "output_length": 132,
     "type": "text", "turn": 2, "hash_ids": [1089, 1090, ...]}

(https://github.com/alibaba-edu/qwen-bailian-usagetraces-anon.) `timestamp` is in seconds; a chat goes on from its
parent, -1 is none. A session here is a chat with all that go on from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from hitrate.core.records import Skipped
from hitrate.core.trace import UNKNOWN, Replayable
from hitrate.logs.lines import first_objects
from hitrate.logs.traces.believed import believed
from hitrate.logs.traces.block_size import Layout, layout_of
from hitrate.logs.traces.chunks import Request, StreamedTrace
from hitrate.logs.traces.mooncake import Count
from hitrate.logs.traces.rows import Rows, first_rows

BLOCK_TOKENS = 16


class _Row(msgspec.Struct, gc=False):
    chat_id: int
    input_length: Count
    hash_ids: list[int]
    parent_chat_id: int = -1
    timestamp: float | None = None
    output_length: Count | None = None


class Bailian:
    name = "bailian"
    about = "JSONL with chat_id, parent_chat_id and hash_ids (Alibaba Bailian, Qwen)"

    def matches(self, head: bytes) -> bool:
        return any("chat_id" in one and "hash_ids" in one for one in first_objects(head))

    def open(self, stream: BinaryIO, path: str, head: bytes, block_tokens: int | None) -> StreamedTrace:
        decoder = msgspec.json.Decoder(_Row)
        lengths = [(row.input_length, len(row.hash_ids)) for row in first_rows(head, decoder)]
        layout = layout_of(lengths, path, BLOCK_TOKENS, block_tokens)
        facts = Replayable(path=path, format=self.name, block_tokens=layout[0], has_partial_blocks=layout[1])
        return StreamedTrace(facts, stream, believed(_requests(Rows(stream, decoder), layout)))


def _requests(rows: Rows[_Row], layout: Layout) -> Iterator[Request | Skipped]:
    roots: dict[int, int] = {}
    for line, row in rows:
        if isinstance(row, Skipped):
            yield row
            continue
        root = roots[row.chat_id] = roots.get(row.parent_chat_id, row.chat_id)
        if not layout.fits(row.input_length, len(row.hash_ids)):
            yield Skipped(line=line, reason=layout.misfit(row.input_length, len(row.hash_ids)))
        else:
            at_s = math.nan if row.timestamp is None else row.timestamp
            output = UNKNOWN if row.output_length is None else row.output_length
            yield Request(at_s, row.input_length, output, root, row.hash_ids, line)
