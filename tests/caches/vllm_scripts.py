"""What vLLM's manager was asked: small cases with answers anyone can check by hand, and random conversations."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from engine_traffic import Step, Traffic, answers_of

from hitrate.caches.block_chain import BlockChainCache

DATA = Path(__file__).resolve().parents[1] / "data" / "engines"
RECORDED = DATA / "vllm_manager.json"
MOONCAKE = DATA / "mooncake_conversation.jsonl.gz"
PLENTY = 400_000
"""Blocks of the real manager, which allocates them all, where the model has no limit."""


class Run(NamedTuple):
    name: str
    block_size: int
    blocks: int | None
    steps: Sequence[Step]


def prompts(*letters_and_blocks: tuple[str, int], block_size: int = 16) -> list[Step]:
    """One after the other, without a reply; equal letters are equal prompts."""
    steps = []
    for number, (letter, blocks) in enumerate(letters_and_blocks, start=1):
        tokens = tuple(100 * ord(letter) + index for index in range(blocks * block_size))
        steps += [Step("begin", number, tokens), Step("finish", number)]
    return steps


CASES = [
    (Run("A B A with room for five blocks", 16, 5, prompts(("A", 4), ("B", 2), ("A", 4))), [0, 0, 48]),
    (
        Run("three prompts in turn with room for ten", 16, 10, prompts(*[("A", 4), ("B", 4), ("C", 4)] * 3)),
        [0, 0, 0, *[32] * 6],
    ),
    (Run("a full repeat", 16, 10, prompts(("A", 4), ("A", 4), ("A", 4))), [0, 48, 48]),
]


def random_runs() -> list[Run]:
    """1,320 conversations in all."""
    shapes = [(1, 4, 24), (2, 16, 40), (3, 16, 200), (4, 32, 64), (5, 16, None), (6, 1, 400)]
    runs = []
    for seed, block_size, blocks in shapes:
        longest = min((blocks or PLENTY) - 1, 20 if block_size > 1 else 300) * block_size
        steps = Traffic(seed, 220, longest).steps()
        runs.append(Run(f"random {seed}: block {block_size}, {blocks or 'no'} limit", block_size, blocks, steps))
    return runs


def model_answers(run: Run) -> list[int | None]:
    return answers_of(BlockChainCache(run.block_size, run.blocks), run.steps)


class TraceRun(NamedTuple):
    """Blocks of 512 tokens, and the sum of cached tokens that vLLM gives for the whole trace."""

    blocks: int | None
    hit_tokens: int


MOONCAKE_RUNS = [TraceRun(5_859, 20_807_680), TraceRun(50_000, 52_594_176), TraceRun(None, 54_063_104)]


def mooncake_requests() -> Iterator[tuple[list[int], int]]:
    """(block ids, prompt tokens) of the 12,031 requests, in order."""
    with gzip.open(MOONCAKE, "rt", encoding="utf-8") as lines:
        for line in lines:
            request: dict[str, Any] = json.loads(line)
            yield request["hash_ids"], request["input_length"]


def mooncake_answers(blocks: int | None) -> list[int]:
    cache = BlockChainCache(512, blocks)
    answers = []
    for keys, prompt_tokens in mooncake_requests():
        lease = cache.begin_keys(keys, prompt_tokens)
        assert lease is not None
        cache.finish(lease)
        answers.append(lease.cached_tokens)
    return answers


def digest(answers: Sequence[int | None]) -> str:
    return hashlib.sha256(json.dumps(list(answers)).encode()).hexdigest()
