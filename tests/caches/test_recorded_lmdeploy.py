"""The block trie against what LMDeploy's own scheduler answered: the same cached tokens on every call.

The answers are recorded by `make differential`.
"""

from __future__ import annotations

import json

import pytest
from engine_traffic import answers_of, fingerprint
from lmdeploy_scripts import RECORDED, Run, model_answers, random_runs

from hitrate.caches.block_chain import BlockChainCache

RECORDINGS = json.loads(RECORDED.read_text(encoding="utf-8"))["runs"]
RUNS = random_runs()


@pytest.mark.parametrize("run", RUNS, ids=[run.name for run in RUNS])
def test_every_call(run: Run) -> None:
    recorded = RECORDINGS[run.name]
    assert recorded["fingerprint"] == fingerprint(run.steps), "other steps than were recorded: run make differential"
    assert model_answers(run) == recorded["answers"]
    assert None not in recorded["answers"] and sum(answer > 0 for answer in recorded["answers"]) > 300


def test_eviction_is_what_makes_the_runs_differ() -> None:
    """Without a limit, other tokens would be served in the bounded runs: the recording tries eviction."""
    for run in RUNS[:2]:
        assert model_answers(run._replace(blocks=10**5)) != RECORDINGS[run.name]["answers"]


def test_a_chain_of_blocks_would_answer_otherwise() -> None:
    """The recording tries what the trie does in its own way."""
    run = RUNS[0]
    assert answers_of(BlockChainCache(run.block_size, run.blocks), run.steps) != RECORDINGS[run.name]["answers"]
