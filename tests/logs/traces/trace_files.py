"""Short hands for traces written in a test."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from hitrate.core.trace import Chunk, Trace
from hitrate.logs.traces.sniff import open_trace


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def opened(folder: Path, data: bytes, format: str | None = None, block_tokens: int | None = None) -> Trace:
    file = folder / "trace"
    file.write_bytes(data)
    trace = open_trace(str(file), format, block_tokens=block_tokens)
    assert trace is not None
    return trace


class Row(NamedTuple):
    at_s: float
    input_tokens: int
    output_tokens: int
    session: int
    ids: list[int]


def rows(trace: Trace) -> list[Row]:
    return [row for chunk in trace.chunks() for row in rows_of(chunk)]


def rows_of(chunk: Chunk) -> list[Row]:
    columns = (chunk.at_s, chunk.input_tokens, chunk.output_tokens, chunk.sessions)
    blocks = [list(chunk.ids[start:end]) for start, end in pairwise(chunk.starts)]
    return [Row(*row, ids) for *row, ids in zip(*columns, blocks, strict=True)]
