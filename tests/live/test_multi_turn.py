import asyncio
import random

import pytest
from fake_client import DOLLAR, FakeClient, asker_on

from hitrate.errors import TargetError, UsageError
from hitrate.live.conversation import GrowingScript
from hitrate.live.multi_turn import MultiTurnPlan, ended_early, interrupted, run_multi_turn, until_stopped


def run(client, plan, *, script_for=None, **options):
    asker = asker_on(client, **options)
    source = random.Random(0)

    def growing(run_name, session):
        return GrowingScript("S", [], ["Why?"], source)

    scripts = script_for or growing
    warnings = asyncio.run(run_multi_turn(asker, plan, scripts, lambda run_name: f"i-{run_name}", "p"))
    return asker, warnings


@pytest.mark.parametrize(
    ("plan", "runs", "calls"),
    [
        (MultiTurnPlan(turns=5), [("sequential", 1)], 5),
        (MultiTurnPlan(turns=2, sessions=3), [("sequential", 1), ("parallel", 3)], 8),
        (
            MultiTurnPlan(turns=2, sessions=2, repeat=2),
            [("sequential#1", 1), ("parallel#1", 2), ("sequential#2", 1), ("parallel#2", 2)],
            12,
        ),
    ],
)
def test_plans(plan, runs, calls):
    assert (plan.runs(), plan.calls) == (runs, calls)


def test_calls_are_labelled_and_each_session_has_its_own_messages():
    client = FakeClient()
    asker, warnings = run(client, MultiTurnPlan(turns=2, sessions=2, repeat=2))
    assert warnings == []
    assert sorted({(call.label, call.session) for call in asker.calls}) == [
        ("parallel#1", "p-parallel-1-1"),
        ("parallel#1", "p-parallel-1-2"),
        ("parallel#2", "p-parallel-2-1"),
        ("parallel#2", "p-parallel-2-2"),
        ("sequential#1", "p-sequential-1-1"),
        ("sequential#2", "p-sequential-2-1"),
    ]
    messages = [body["messages"] for body, session, _ in client.sent if session == "p-parallel-2-2"]
    assert [len(one) for one in messages] == [2, 4]
    assert messages[1][:2] == messages[0]
    first_questions = {str(body["messages"][1]) for body, _, _ in client.sent if len(body["messages"]) == 2}
    assert len(first_questions) == 6


def test_a_turn_that_failed_is_left_out_of_what_follows():
    client = FakeClient({}, {"status": 500, "error": "no"}, {})
    asker, _ = run(client, MultiTurnPlan(turns=3))
    assert [len(body["messages"]) for body, _, _ in client.sent] == [2, 4, 4]
    assert [call.turn for call in asker.calls] == [1, 2, 3]


def test_a_reply_that_was_cut_is_not_sent_back():
    client = FakeClient({"error": "cut"}, {})
    run(client, MultiTurnPlan(turns=2))
    assert [len(body["messages"]) for body, _, _ in client.sent] == [2, 2]


def test_a_spent_budget_stops_the_run_and_keeps_its_calls():
    asker, warnings = run(FakeClient(), MultiTurnPlan(turns=9), price=DOLLAR, max_tokens=1, budget_usd=120.0)
    assert 0 < len(asker.calls) < 9
    assert warnings[0].startswith("stopped by --budget: $")
    assert warnings[0].endswith("; the calls made so far are shown")
    assert ended_early(warnings)


def test_a_run_that_is_cancelled_keeps_its_calls():
    asker, warnings = run(FakeClient({}, {}, asyncio.CancelledError()), MultiTurnPlan(turns=5))
    assert len(asker.calls) == 2
    assert warnings == ["interrupted after 2 calls; what was measured is shown"]
    assert ended_early(warnings)


def test_a_refusal_ends_the_run_as_itself():
    with pytest.raises(TargetError, match=r"^t refused the request \(HTTP 400: no\)$"):
        run(FakeClient({"status": 400, "error": "no"}), MultiTurnPlan(turns=2, sessions=3))


def test_a_script_that_cannot_go_on_ends_its_session_alone():
    class Stuck(GrowingScript):
        def answered(self, reply):
            raise UsageError("no result for x")

    def script_for(run_name, session):
        kind = Stuck if (run_name, session) == ("parallel", 2) else GrowingScript
        return kind("S", [], ["Why?"], random.Random(0))

    asker, warnings = run(FakeClient(), MultiTurnPlan(turns=3, sessions=2), script_for=script_for)
    assert warnings == ["p-parallel-2 ended after turn 1: no result for x"]
    assert not ended_early(warnings)
    assert len(asker.calls) == 3 + 3 + 1


def test_the_warm_up_is_no_measured_call():
    asker = asker_on(FakeClient())
    asyncio.run(asker.warm_up())
    assert interrupted(asker.calls) == "interrupted after 0 calls; what was measured is shown"


@pytest.mark.parametrize(
    ("raised", "warnings"),
    [(None, []), (asyncio.CancelledError(), ["interrupted after 0 calls; what was measured is shown"])],
)
def test_until_stopped(raised, warnings):
    async def work():
        if raised is not None:
            raise raised

    async def main():
        return await until_stopped(asker_on(FakeClient()), work())

    assert asyncio.run(main()) == warnings
