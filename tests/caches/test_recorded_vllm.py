"""The block chain against what vLLM's own KVCacheManager answered: the same cached tokens on every call.

The answers are recorded by `make differential`, which also runs the real manager beside the model.
"""

from __future__ import annotations

import json

import pytest
from engine_traffic import fingerprint
from vllm_scripts import (
    CASES,
    MOONCAKE_RUNS,
    RECORDED,
    Run,
    TraceRun,
    digest,
    model_answers,
    mooncake_answers,
    random_runs,
)

RECORDINGS = json.loads(RECORDED.read_text(encoding="utf-8"))
RANDOM_RUNS = random_runs()


@pytest.mark.parametrize(("run", "answers"), CASES, ids=[run.name for run, _ in CASES])
def test_cases_by_hand(run: Run, answers: list[int]) -> None:
    assert RECORDINGS["runs"][run.name]["answers"] == answers == model_answers(run)


@pytest.mark.parametrize("run", RANDOM_RUNS, ids=[run.name for run in RANDOM_RUNS])
def test_every_call_of_random_conversations(run: Run) -> None:
    recorded = RECORDINGS["runs"][run.name]
    assert recorded["fingerprint"] == fingerprint(run.steps), "other steps than were recorded: run make differential"
    assert model_answers(run) == recorded["answers"]


def test_the_recording_holds_what_it_is_meant_to_try() -> None:
    answers = [answer for run in RANDOM_RUNS for answer in RECORDINGS["runs"][run.name]["answers"]]
    verbs = [step.verb for run in RANDOM_RUNS for step in run.steps]
    assert len(answers) == verbs.count("begin") > 5000
    assert answers.count(None) > 300 and answers.count(0) > 800 and sum(1 for one in answers if one) > 4000
    assert verbs.count("abort") > 400 and verbs.count("reset") >= 5
    spaces = {step.namespace for run in RANDOM_RUNS for step in run.steps}
    assert spaces >= {None, ("tenant-a", None), (None, "legal"), ("tenant-b", "support")}


@pytest.mark.parametrize("run", MOONCAKE_RUNS, ids=[f"{run.blocks or 'all'} blocks" for run in MOONCAKE_RUNS])
def test_every_call_of_a_production_trace(run: TraceRun) -> None:
    answers = mooncake_answers(run.blocks)
    assert sum(answers) == run.hit_tokens
    assert digest(answers) == RECORDINGS["mooncake_conversation"][str(run.blocks)]
