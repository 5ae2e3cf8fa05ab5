"""Traces as columns, from lists of prompts and from the Mooncake trace of the repository."""

from __future__ import annotations

import gzip
import json
from array import array
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from hitrate.core.trace import UNKNOWN, Chunk

MOONCAKE = Path(__file__).parents[2] / "data" / "engines" / "mooncake_conversation.jsonl.gz"


def chunk_of(prompts: Sequence[Sequence[object]], input_tokens: Sequence[int]) -> Chunk:
    """`prompts` hold a name for each block; blocks are equal where all names up to theirs are."""
    numbers: dict[tuple[object, ...], int] = {}
    ids = array("q")
    starts = array("q", [0])
    for prompt in prompts:
        for end in range(1, len(prompt) + 1):
            ids.append(numbers.setdefault(tuple(prompt[:end]), len(numbers)))
        starts.append(len(ids))
    count = len(prompts)
    unknown = array("q", [UNKNOWN] * count)
    return Chunk(array("d", range(count)), array("q", input_tokens), unknown, unknown, starts, ids)


@cache
def mooncake() -> Chunk:
    """12,031 requests; ids are numbered anew, and stand for a whole prefix in the file already."""
    with gzip.open(MOONCAKE) as file:
        requests = [json.loads(line) for line in file]
    numbers: dict[int, int] = {}
    ids = array("q")
    starts = array("q", [0])
    for request in requests:
        ids.extend(numbers.setdefault(block, len(numbers)) for block in request["hash_ids"])
        starts.append(len(ids))
    unknown = array("q", [UNKNOWN] * len(requests))
    times = array("d", (request["timestamp"] / 1000 for request in requests))
    return Chunk(times, array("q", (request["input_length"] for request in requests)), unknown, unknown, starts, ids)
