"""A trace without content in the form of Mooncake's: what a replay or a simulator reads.

    {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, 48, ...]}

`timestamp` is milliseconds from the first call, `hash_ids` number the blocks of the prompt, the last one whether it is
full or not: as many as `input_length` / block size, rounded up
(https://github.com/kvcache-ai/Mooncake, FAST25-release/traces). Two prompts have an id in common when all tokens up to
the end of that block are the same. Ids count from 0 in the order they first came, so they tell nothing of the text.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import BinaryIO

from msgspec import Struct

from hitrate.core.model import Call
from hitrate.logs.traces.chained import block_names

BLOCK_TOKENS = 512

TokensOf = Callable[[Call], Sequence[int]]
"""The tokens of a call's prompt. ValueError where its request cannot be read."""


class Written(Struct, kw_only=True):
    """What became of the calls."""

    calls: int = 0
    without_request: int = 0
    """Left out: the log holds no request, or one that cannot be read."""
    without_time: int = 0
    """Left out: not known when it was sent."""
    without_output: int = 0
    """Written with `output_length` null."""
    tokens: int = 0
    reported_tokens: int = 0
    """Prompt tokens as reported, and `counted_tokens` as counted here, of the calls that report."""
    counted_tokens: int = 0
    blocks: int = 0
    distinct_blocks: int = 0


class _Row(Struct):
    at: float
    tokens: int
    output: int | None
    ids: array[int]


def write(
    calls: Iterable[Call], out: BinaryIO, tokens_of: TokensOf, *, block_tokens: int = BLOCK_TOKENS, salt: bytes
) -> Written:
    """Calls in the order they were sent. `salt` goes into the hashes that blocks are told by, none of which is written.

    Memory grows with the number of blocks, eight bytes each, and some hundred for each that is new.
    """
    written = Written()
    numbers: dict[bytes, int] = {}
    rows: list[_Row] = []
    for call in calls:
        row = _row(call, tokens_of, block_tokens, salt, numbers, written)
        if row is not None:
            rows.append(row)
    rows.sort(key=lambda row: row.at)
    renumbered: dict[int, int] = {}
    for row in rows:
        record = {
            "timestamp": round((row.at - rows[0].at) * 1000),
            "input_length": row.tokens,
            "output_length": row.output,
            "hash_ids": [renumbered.setdefault(one, len(renumbered)) for one in row.ids],
        }
        out.write(json.dumps(record).encode() + b"\n")
    written.calls, written.distinct_blocks = len(rows), len(renumbered)
    return written


def _row(
    call: Call, tokens_of: TokensOf, block_tokens: int, salt: bytes, numbers: dict[bytes, int], written: Written
) -> _Row | None:
    if not call.body:
        written.without_request += 1
        return None
    if call.timing is None:
        written.without_time += 1
        return None
    try:
        tokens = tokens_of(call)
    except ValueError:
        written.without_request += 1
        return None
    usage = call.usage
    written.tokens += len(tokens)
    if usage.prompt_tokens is not None:
        written.reported_tokens += usage.prompt_tokens
        written.counted_tokens += len(tokens)
    written.without_output += usage.output_tokens is None
    ids = array(
        "Q", (numbers.setdefault(name, len(numbers)) for name in block_names(tokens, block_tokens, _root(call, salt)))
    )
    written.blocks += len(ids)
    return _Row(call.timing.at, len(tokens), usage.output_tokens, ids)


def _root(call: Call, salt: bytes) -> bytes:
    """Prompts of different models, or at different places, share nothing."""
    place = json.dumps([call.target, call.model or ""]).encode()
    return blake2b(place, key=salt[:64], digest_size=16).digest()
