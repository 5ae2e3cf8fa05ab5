"""Targets without a published rule: the expectation is the longest common prefix, known to some 144 tokens."""

import pytest
from msgspec.structs import replace
from test_verdict import row, seen

from hitrate.explain.turns.verdict import TargetFacts, judge

FACTS = TargetFacts(granularity=128, slack_tokens=144, published=False)


def session(run, number, cached, turn_tokens=80):
    """Prompts of 3,000 tokens and `turn_tokens` more each turn; `cached` from turn 2 on."""
    prompts = [3000 + turn_tokens * turn for turn in range(len(cached) + 1)]
    expected = [0, *(prompt + 32 for prompt in prompts)]
    counts = zip([0, *cached], expected, prompts, strict=False)
    return [row(run, number, turn, c, e, prompt=p) for turn, (c, e, p) in enumerate(counts, start=1)]


@pytest.mark.parametrize(
    ("cached", "cause"),
    [
        ([2048], "fixed prefix"),
        ([2048, 2048, 2048, 2048, 2048, 2048], "fixed prefix"),
        ([2048, 3072, 3072, 3072, 3072, 3072, 3072, 3072], "granularity"),
        ([2560, 3072, 3072, 3072, 3072], "granularity"),
        ([2750, 2750, 2751, 2752], "fixed prefix"),  # to the end of a system prompt, give or take its template
        ([2000, 2100, 2200, 2300, 2400], "unexplained"),
    ],
)
def test_counts_that_never_fall_leave_routing_open(cached, cause):
    verdict = judge(seen(session("sequential", 1, cached)), FACTS)
    assert (verdict.healthy, verdict.routing_is_a_factor, verdict.cause) == (None, None, cause)
    assert verdict.replicas is None
    assert "This target publishes no rule" in verdict.text


def test_the_step_and_the_prefix_are_named():
    steps = judge(seen(session("sequential", 1, [2048, 3072, 3072])), FACTS).text
    fixed = judge(seen(session("sequential", 1, [2048, 2048])), FACTS).text
    assert "the whole steps of 1,024 tokens that fit the prompt before" in steps
    assert "all were served the same 2,048 tokens: either a fixed prefix alone is cached" in fixed


def test_the_same_prefix_in_parallel_is_no_replica_either():
    rows = session("sequential", 1, [2048] * 4)
    for number in (1, 2, 3):
        rows += session("parallel", number, [2049] * 4)
    assert judge(seen(rows), FACTS).cause == "fixed prefix"


def test_a_count_that_falls_back_within_a_session_is_a_replica():
    rows = session("sequential", 1, [3000, 2100, 3160, 2100, 2100, 2100, 3480, 2100])
    verdict = judge(seen(rows), FACTS)
    assert (verdict.healthy, verdict.routing_is_a_factor, verdict.cause) == (False, True, "replica")
    assert verdict.replicas.n == 8


def test_sessions_that_differ_at_one_turn_are_replicas():
    rows = []
    for number in range(1, 9):
        rows += session("parallel", number, [3000 if number % 3 == 0 else 2100])
    assert judge(seen(rows), FACTS).cause == "replica"


def test_the_same_signs_in_few_turns_are_left_open():
    rows = session("sequential", 1, [3000, 2100, 2100])
    verdict = judge(seen(rows), FACTS)
    assert (verdict.healthy, verdict.routing_is_a_factor, verdict.cause) == (None, None, "unexplained")
    assert "too few to tell routing from anything else" in verdict.text


def test_a_rule_that_is_published_says_more():
    rows = session("sequential", 1, [2048] * 6)
    assert judge(seen(rows), replace(FACTS, published=True)).cause == "replica"
