"""Decisions of real routers, as `tests/differential/check_routers.py` recorded them: each policy decides the same."""

from __future__ import annotations

import pytest
from router_scripts import Run, decisions, recorded, ring_decisions, runs


@pytest.mark.parametrize("run", runs(), ids=lambda run: f"{run.router} {run.policy}: {run.name}")
def test_every_decision(run: Run) -> None:
    answers = recorded(run.router)["runs"][f"{run.policy}: {run.name}"]
    assert answers["fingerprint"] == run.fingerprint, "the script has changed: record anew"

    if run.model is None:
        assert ring_decisions(run, answers["urls"]) == answers["decisions"]
    else:
        assert decisions(run) == answers["decisions"]


def test_the_scripts_reach_every_worker_and_both_sides_of_the_gate() -> None:
    for run in runs():
        answers = recorded(run.router)["runs"][f"{run.policy}: {run.name}"]
        assert set(answers["decisions"]) == set(range(run.workers))
    gated = next(run for run in runs() if run.name.startswith("imbalanced"))
    open_gate = gated._replace(model="sglang-cache-aware:cache=0.6")
    assert decisions(open_gate) != decisions(gated)
