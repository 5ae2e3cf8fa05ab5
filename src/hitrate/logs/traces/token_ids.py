"""Prompts as token ids with the time they came, as LLMServingSim has them: cut into blocks of any size.

    {"input_toks": 3, "output_toks": 8, "arrival_time_ns": 46926808, "input_tok_ids": [...], "output_tok_ids": [...]}

(https://github.com/casys-kaist/LLMServingSim, workloads.) The ids count, whatever `input_toks` says.
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
from hitrate.logs.traces.chained import block_names
from hitrate.logs.traces.chunks import Request, StreamedTrace
from hitrate.logs.traces.mooncake import Count
from hitrate.logs.traces.rows import Rows

BLOCK_TOKENS = 16
"""vLLM's own, where no other size is asked for."""


class _Row(msgspec.Struct, gc=False):
    input_tok_ids: list[int]
    arrival_time_ns: int | None = None
    output_toks: Count | None = None
    session_id: str | int | None = None


class TokenIds:
    name = "llmservingsim"
    about = "JSONL with input_tok_ids and arrival_time_ns (LLMServingSim)"

    def matches(self, head: bytes) -> bool:
        return any("input_tok_ids" in one for one in first_objects(head))

    def open(self, stream: BinaryIO, path: str, head: bytes, block_tokens: int | None) -> StreamedTrace:
        size = block_tokens or BLOCK_TOKENS
        facts = Replayable(path=path, format=self.name, block_tokens=size, has_partial_blocks=True)
        rows = Rows(stream, msgspec.json.Decoder(_Row))
        return StreamedTrace(facts, stream, believed(_requests(rows, size)))


def _requests(rows: Rows[_Row], block_tokens: int) -> Iterator[Request | Skipped]:
    for line, row in rows:
        if isinstance(row, Skipped):
            yield row
            continue
        try:
            names = block_names(row.input_tok_ids, block_tokens)
        except OverflowError:
            yield Skipped(line=line, reason="a token id does not fit into 64 bits")
            continue
        at_s = math.nan if row.arrival_time_ns is None else row.arrival_time_ns / 1e9
        output = UNKNOWN if row.output_toks is None else row.output_toks
        yield Request(at_s, len(row.input_tok_ids), output, row.session_id, names, line)
