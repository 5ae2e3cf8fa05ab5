"""What a trace lacks for what was asked: sessions for policies that go by them, prompts as short as were measured."""

from __future__ import annotations

import re
from typing import Any

import pytest
from made_traces import Chats

from hitrate.core.simulation_results import Goal, SimulateResult
from hitrate.core.trace import UNKNOWN
from hitrate.errors import UsageError
from hitrate.sim.timing.engine_timing import EngineTiming
from hitrate.simulating import Wanted, simulate
from hitrate.simulating.scale_out import Scale

FLEET: dict[str, Any] = {"capacities": (60,), "replicas": (4,)}


class WithoutSessions(Chats):
    def chunks(self) -> Any:
        for chunk in super().chunks():
            yield chunk._replace(sessions=type(chunk.sessions)("q", [UNKNOWN] * len(chunk.sessions)))


@pytest.mark.parametrize("policy", ["session-affinity", "consistent-hash", "consistent-hash:virtual_nodes=8"])
@pytest.mark.parametrize("plan", [True, False])
def test_a_policy_that_goes_by_sessions_needs_some(policy: str, plan: bool) -> None:
    said = re.escape(
        f"--policy {policy} goes by sessions, and no request of chats names one; use first-blocks or "
        "consistent-hash:blocks=K, which go by how prompts begin"
    )
    with pytest.raises(UsageError, match=said):
        simulate(WithoutSessions(), Wanted(**FLEET, policies=("random", policy), plan=plan))


@pytest.mark.parametrize("policy", ["consistent-hash:blocks=2", "first-blocks", "random", "smg-prefix-hash"])
def test_others_need_none(policy: str) -> None:
    assert simulate(WithoutSessions(), Wanted(**FLEET, policies=(policy,))).rows[0].hit_rate is not None


def test_one_replica_is_not_routed_to() -> None:
    assert simulate(WithoutSessions(), Wanted(capacities=(60,), policies=("session-affinity",))).rows


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (
            "session-affinity",
            ["policy session-affinity goes by sessions; 43 of 300 requests are of none and go to any"],
        ),
        (
            "consistent-hash",
            ["policy consistent-hash goes by sessions; 43 of 300 requests are of none and go by a hash"],
        ),
        ("consistent-hash:blocks=2", []),
    ],
)
def test_how_many_requests_are_of_no_session_is_said(policy: str, said: list[str]) -> None:
    notes = simulate(Chats(), Wanted(**FLEET, policies=(policy,))).notes

    assert [re.split(" replica| of the", note)[0] for note in notes if "goes by sessions" in note] == said


def timed(longest: int | None, context_s: float = 0.0, **more: Any) -> SimulateResult:
    timing = EngineTiming(step_s=0.01, prefill_token_s=0.001, prefill_context_s=context_s)
    wanted = Wanted(timing=timing, timing_name="made", timed_prompt_tokens=longest, **more)
    return simulate(Chats(), wanted, Scale())


def shares() -> tuple[int, int]:
    lengths = [tokens for chunk in Chats().chunks() for tokens in chunk.input_tokens]
    return sum(tokens > 100 for tokens in lengths), max(lengths)


def test_times_of_longer_prompts_than_were_measured_are_warned_of() -> None:
    longer, longest = shares()
    said = (
        f"times of made were measured with prompts of up to 100 tokens; {longer / 3:.1f} % of the prompts here are "
        f"longer, up to {longest:,}, and their times are extrapolated"
    )
    left_out = (
        ". Attention over long prompts, which grows with the square of their length, is left out (prefill_context_s is "
        "0: the measurement could not tell it), so these times are too short"
    )

    assert timed(100, plan=False).warnings == (said + left_out,)
    assert timed(100, 1e-9, plan=False).warnings == (said,)


@pytest.mark.parametrize("longest", [None, 10**6])
def test_times_of_no_longer_prompts_are_not(longest: int | None) -> None:
    result = timed(longest)

    assert result.plan is not None
    assert (result.plan.warnings, result.warnings) == ((), ())


def test_that_a_timing_does_not_say_what_it_was_measured_with_is_noted() -> None:
    said = "made does not say with how long prompts it was measured"

    assert [[note.startswith(said) for note in timed(longest).notes].count(True) for longest in (None, 100)] == [1, 0]


def test_a_plan_and_its_goal_carry_it() -> None:
    longer, _ = shares()
    result = timed(100, goal=Goal(statistic="p99", seconds=1000.0))

    assert result.plan is not None
    assert [warning.partition(" were ")[0] for warning in result.plan.warnings] == ["times of made"]
    (choice,) = result.plan.choices
    assert choice.why.endswith(f" s to spare, in times that are extrapolated for {longer / 3:.1f} % of the prompts")
