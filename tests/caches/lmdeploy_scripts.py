"""What LMDeploy's scheduler was asked: random conversations with room for some of them, in blocks of several sizes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from engine_traffic import Step, Traffic, answers_of

from hitrate.caches.block_trie import BlockTrieCache

RECORDED = Path(__file__).resolve().parents[1] / "data" / "engines" / "lmdeploy_scheduler.json"


class Run(NamedTuple):
    name: str
    block_size: int
    blocks: int
    steps: Sequence[Step]


def random_runs() -> list[Run]:
    """1,000 conversations. No prompt is longer than a sixth of the capacity, so that none has to wait."""
    shapes = [(1, 16, 90), (2, 16, 400), (3, 64, 120), (4, 64, 10_000), (5, 8, 300)]
    runs = []
    for seed, block_size, blocks in shapes:
        longest = min(blocks * block_size // 6, 1500)
        steps = Traffic(seed, 200, longest, parallel=3).steps()
        runs.append(Run(f"random {seed}: blocks of {block_size}, {blocks} of them", block_size, blocks, steps))
    return runs


def model_answers(run: Run) -> list[int | None]:
    return answers_of(BlockTrieCache(run.block_size, run.blocks), run.steps)
