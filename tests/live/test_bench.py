import asyncio
import random

import pytest
from fake_client import FakeClient, asker_on

from hitrate.live.bench import CONVERSATION, OPENING, STABLE_FIRST, VARIABLE_FIRST, BenchPlan, roles, run_bench
from hitrate.targets.dialects.anthropic_messages import AnthropicMessages
from hitrate.targets.presets import Knob, Target


def run(client, target=None, dialect=None, **plan):
    asker = asker_on(client, target=target, dialect=dialect)
    times = iter(f"12:00:{second:02d}" for second in range(60))
    work = run_bench(asker, BenchPlan(**plan), "OPENING", ["q1", "q2"], random.Random(0), lambda: next(times), "p")
    assert asyncio.run(work) == []
    return asker.calls


def texts(client):
    return [[message["content"] for message in body["messages"]] for body, _, _ in client.sent]


@pytest.mark.parametrize(
    ("plan", "total", "cold_after"),
    [
        (BenchPlan(), 27, {4, 7, 9}),
        (BenchPlan(calls=2), 4, set()),
        (BenchPlan(cold_calls=0), 24, set()),
        (BenchPlan(isolate=False), 24, set()),
        (BenchPlan(orders=(VARIABLE_FIRST,)), 12, {4, 7, 9}),
        (BenchPlan(shapes=(CONVERSATION,)), 24, {4, 7, 9}),
    ],
)
def test_plans(plan, total, cold_after):
    assert plan.total_calls == total
    assert plan.cold_after(STABLE_FIRST, OPENING) == cold_after
    assert plan.cold_after(VARIABLE_FIRST, OPENING) == set()


def test_cold_calls_follow_their_warm_ones():
    assert list(roles(3, {2})) == [(1, False), (2, False), (2, True), (3, False)]


def test_stable_first_puts_the_question_behind_the_opening_and_a_nonce_in_front_of_both():
    client = FakeClient()
    calls = run(client, orders=(STABLE_FIRST,), calls=3, cold_calls=1)
    warm, again, cold, last = texts(client)
    head = warm[0].removesuffix("OPENING")
    assert head.startswith("Run ") and head.endswith(".\n")
    assert (warm, again, last) == ([head + "OPENING", "q1"], [head + "OPENING", "q2"], [head + "OPENING", "q1"])
    assert cold[0] != warm[0] and cold[0].endswith("OPENING") and cold[1] == "q2"
    assert [(call.label, call.turn) for call in calls] == [
        ("stable-first/opening", 1),
        ("stable-first/opening", 2),
        ("stable-first/opening/cold", 2),
        ("stable-first/opening", 3),
    ]


def test_where_markers_make_the_cache_cold_calls_are_the_same_prompt_without_them():
    client = FakeClient()
    target = Target(name="t", cold_without_markers=True)
    run(client, target, AnthropicMessages(), orders=(STABLE_FIRST,), calls=3, cold_calls=1)
    systems = [body["system"][0] for body, _, _ in client.sent]
    assert len({system["text"] for system in systems}) == 1
    assert ["cache_control" in system for system in systems] == [True, True, False, True]


def test_variable_first_puts_time_and_question_in_front():
    client = FakeClient()
    run(client, orders=(VARIABLE_FIRST,), calls=2, isolate=False)
    assert texts(client) == [
        ["Time of the request: 12:00:00\nQuestion of the customer: q1\n\nOPENING", "Answer the question above."],
        ["Time of the request: 12:00:01\nQuestion of the customer: q2\n\nOPENING", "Answer the question above."],
    ]


def test_a_knob_keeps_runs_apart_without_a_change_of_the_prompt():
    client = FakeClient()
    run(client, Target(name="t", cold_knob=Knob("body", "cache_salt")), orders=(STABLE_FIRST,), calls=3, cold_calls=1)
    assert {one[0] for one in texts(client)} == {"OPENING"}
    first, second, cold, third = (body["cache_salt"] for body, _, _ in client.sent)
    assert first == second == third != cold


def test_a_conversation_grows_and_leaves_out_what_was_not_answered():
    client = FakeClient({}, {"status": 500, "error": "no"}, {})
    run(client, orders=(STABLE_FIRST,), shapes=(CONVERSATION,), calls=3, isolate=False)
    assert texts(client) == [["OPENING", "q1"], ["OPENING", "q1", "Yes.", "q2"], ["OPENING", "q1", "Yes.", "q1"]]


def test_an_interrupted_bench_keeps_its_calls():
    asker = asker_on(FakeClient({}, {}, asyncio.CancelledError()))
    work = run_bench(asker, BenchPlan(), "O", ["q"], random.Random(0), lambda: "now", "p")
    assert asyncio.run(work) == ["interrupted after 2 calls; what was measured is shown"]
    assert len(asker.calls) == 2
