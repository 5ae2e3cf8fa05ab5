"""What SGLang's radix tree was asked: random conversations with room for some of them, token by token and in pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from engine_traffic import Step, Traffic, answers_of

from hitrate.caches.radix import RadixCache

RECORDED = Path(__file__).resolve().parents[1] / "data" / "engines" / "sglang_radix.json"


class Run(NamedTuple):
    name: str
    page_size: int
    tokens: int
    steps: Sequence[Step]


def random_runs() -> list[Run]:
    """1,000 conversations. No prompt is longer than a sixth of the capacity, so that none has to wait."""
    shapes = [(1, 1, 1200), (2, 1, 6000), (3, 1, 400_000), (4, 16, 4800), (5, 64, 15_360)]
    runs = []
    for seed, page_size, tokens in shapes:
        longest = min(tokens // 6, 1500)
        steps = Traffic(seed, 200, longest, parallel=3).steps()
        runs.append(Run(f"random {seed}: page {page_size}, {tokens} tokens", page_size, tokens, steps))
    return runs


def model_answers(run: Run) -> list[int | None]:
    return answers_of(RadixCache(run.page_size, run.tokens), run.steps)
