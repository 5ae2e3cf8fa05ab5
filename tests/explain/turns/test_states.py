import pytest

from hitrate.core.results import STATES
from hitrate.explain.turns.states import state_of


@pytest.mark.parametrize(
    ("prompt", "cached", "expected", "state"),
    [
        (3000, 0, 0, "cold"),
        (3000, 9, 9, "cold"),
        (3000, 2992, 2992, "hit"),
        (3000, 2991, 2992, "partial"),
        (3000, 2999, 2992, "hit"),
        (3000, 1000, 2992, "partial"),
        (3000, 0, 2992, "miss"),
        (3000, 24, 2992, "miss"),
        (3000, None, 2992, "not reported"),
        (3000, 2990, 0, "hit"),
        (3000, 3001, 2992, "not reported"),
        (None, None, None, "not reported"),
        (3000, 0, None, "cold"),
        (3000, 2900, None, "partial"),
    ],
)
def test_state(prompt, cached, expected, state):
    found = state_of(prompt_tokens=prompt, cached_tokens=cached, expected_cached_tokens=expected)
    assert found == state
    assert found in STATES


def test_below_the_rule_s_minimum_nothing_can_be_reused():
    found = state_of(prompt_tokens=900, cached_tokens=0, expected_cached_tokens=0, minimum_tokens=1024)
    assert found == "too short"


def test_an_estimate_may_be_off_by_its_slack():
    found = state_of(prompt_tokens=3000, cached_tokens=2816, expected_cached_tokens=2900, slack_tokens=128)
    assert found == "hit"


def test_a_call_without_an_answer_failed():
    assert state_of(prompt_tokens=None, cached_tokens=None, expected_cached_tokens=None, failed=True) == "failed"
