"""RAGPulse's trace: JSONL of RAG requests, each the parts that its prompt is put together from.

    {"timestamp": "82", "input_length": 3112, "output_length": 192, "session_id": "1757476916095-afhwfadnh5ew",
     "hash_ids": {"sys_prompt": [8302], "passages_ids": [7398, 7370], "history": [15200], "web_search": [],
                  "user_input": [26923]}}

(https://github.com/flashserve/RAGPulse.) Blank lines stand between the requests, which are not in the order of their
`timestamp`, seconds in a string. An id stands for the text of a part wherever it stands, and parts are of any length.
Beside the trace lie files with the length of each part in tokens; with them, prompts are known in blocks of any size.
"""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from hitrate.core.records import Skipped
from hitrate.core.trace import UNKNOWN, Replayable
from hitrate.errors import InputFileError
from hitrate.logs.lines import first_objects
from hitrate.logs.traces.chunks import Request, StreamedTrace
from hitrate.logs.traces.mooncake import Count
from hitrate.logs.traces.rows import Rows

LARGEST_PART = 512
"""Tokens; longer texts were cut before they were numbered."""

_LENGTHS = {
    "1_sys_prompt": "sys_prompt_id",
    "2_passages": "passage_id",
    "3_history": "history_id",
    "4_user_input": "user_input_id",
    "5_web_search": "web_search_id",
}


class _Row(msgspec.Struct, gc=False):
    timestamp: str | float
    input_length: Count
    hash_ids: dict[str, list[int]]
    output_length: Count | None = None
    session_id: str | None = None


class RagPulse:
    name = "ragpulse"
    about = "JSONL with hash_ids by the part of the prompt (RAGPulse)"

    def matches(self, head: bytes) -> bool:
        return any(isinstance(one.get("hash_ids"), dict) and "input_length" in one for one in first_objects(head))

    def open(self, stream: BinaryIO, path: str, head: bytes, block_tokens: int | None) -> StreamedTrace:
        rows = Rows(stream, msgspec.json.Decoder(_Row))
        if block_tokens is None:
            facts = Replayable(
                path=path, format=self.name, block_tokens=LARGEST_PART, has_partial_blocks=True, ordered=False
            )
            return StreamedTrace(facts, stream, _requests(rows, None, 0))
        facts = Replayable(path=path, format=self.name, block_tokens=block_tokens, has_partial_blocks=False)
        return StreamedTrace(facts, stream, _requests(rows, _lengths(Path(path)), block_tokens))


def _requests(rows: Rows[_Row], lengths: dict[int, int] | None, block_tokens: int) -> Iterator[Request | Skipped]:
    """In the order of their times."""
    found: list[Request] = []
    for line, row in rows:
        request = row if isinstance(row, Skipped) else _request(row, line, lengths, block_tokens)
        if isinstance(request, Skipped):
            yield request
        else:
            found.append(request)
    yield from sorted(found, key=lambda one: one.at_s)


def _request(row: _Row, line: int, lengths: dict[int, int] | None, block_tokens: int) -> Request | Skipped:
    try:
        at_s = float(row.timestamp)
    except ValueError:
        at_s = math.inf
    if math.isinf(at_s):
        return Skipped(line=line, reason=f"`timestamp` is {row.timestamp!r}, expected seconds")
    parts = [part for parts in row.hash_ids.values() for part in parts]
    ids: Iterable[object] = parts
    if lengths is not None:
        unknown = next((part for part in parts if part not in lengths), None)
        if unknown is not None:
            return Skipped(line=line, reason=f"no length is given of part {unknown}")
        ids = list(_blocks(parts, lengths, block_tokens))[: row.input_length // block_tokens]
    output = UNKNOWN if row.output_length is None else row.output_length
    return Request(at_s, row.input_length, output, row.session_id, ids, line)


def _blocks(parts: Iterable[int], lengths: dict[int, int], block_tokens: int) -> Iterator[int]:
    """Names of the full blocks: hashes over the pieces of parts in them, and all before."""
    name, room = 0, block_tokens
    pieces: list[tuple[int, int, int]] = []
    for part in parts:
        start = 0
        while lengths[part] - start >= room:
            pieces.append((part, start, start + room))
            start, room = start + room, block_tokens
            name = hash((name, *pieces))
            pieces = []
            yield name
        if lengths[part] > start:
            pieces.append((part, start, lengths[part]))
            room -= lengths[part] - start


def _lengths(trace: Path) -> dict[int, int]:
    found: dict[int, int] = {}
    for stem, key in _LENGTHS.items():
        file = trace.with_name(f"{stem}.jsonl{'.gz' if trace.suffix == '.gz' else ''}")
        try:
            data = file.read_bytes()
        except OSError as error:
            raise InputFileError(
                str(file),
                f"cannot be read ({error.strerror}); blocks of a chosen size need the lengths of all parts beside the "
                "trace: leave --block-size out to count parts",
            ) from None
        try:
            lines = gzip.decompress(data) if file.suffix == ".gz" else data
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputFileError(str(file), f"cannot be decompressed: {error}") from None
        for row in msgspec.json.Decoder(dict[str, int]).decode_lines(lines):
            if key not in row or "token_length" not in row:
                raise InputFileError(str(file), f"expected {key} and token_length on every line")
            found[row[key]] = row["token_length"]
    return found
