"""Credited tokens against the time saved."""

from __future__ import annotations

import pytest

from hitrate.explain.probing.honesty import ColdTimes, saved_share
from hitrate.explain.probing.looks import Look


def cold(tokens):
    """A prefill that slows down with the length, as attention makes it."""
    return 0.02 + tokens / 2000 + (tokens / 4000) ** 2


COLDS = [(tokens, cold(tokens)) for tokens in (50, 150, 300, 500, 900, 1300, 1800, 2400, 2600, 2605)]


def warm(prompt, cached, saved=1.0):
    ttft = cold(prompt) - saved * (cold(prompt) - cold(prompt - cached))
    return Look(prompt_tokens=prompt, cached_tokens=cached, ttft_s=ttft, sent_at_s=0, first_token_at_s=0, ended_at_s=0)


@pytest.mark.parametrize(
    ("saved", "verdict"),
    [(1.0, "match"), (0.9, "match"), (0.1, "credited but not faster"), (0.0, "credited but not faster")],
)
def test_verdicts(saved, verdict):
    found = saved_share(COLDS, [warm(prompt, prompt - 60, saved) for prompt in (1300, 1800, 2400, 2600)])
    assert found.verdict == verdict
    assert found.saved.estimate == pytest.approx(saved, abs=0.03)


def test_one_prompt_that_came_out_far_too_long_does_not_rule_out_the_others():
    """Before the target's vocabulary is known, the first prompt can have thrice the tokens that were wanted."""
    colds = [*COLDS, (9000, cold(9000))]
    found = saved_share(colds, [warm(9000, 8900), *(warm(prompt, prompt - 60) for prompt in (1800, 2400, 2600))])
    assert (found.verdict, found.saved.n) == ("match", 4)


def test_less_credited_than_saved():
    looks = [
        Look(prompt_tokens=2400, cached_tokens=1000, ttft_s=0.05, sent_at_s=0, first_token_at_s=0, ended_at_s=0)
        for _ in range(4)
    ]
    assert saved_share(COLDS, looks).verdict == "faster than credited"


@pytest.mark.parametrize(
    ("colds", "looks"),
    [
        (COLDS, [warm(2400, 2000)] * 3),
        (COLDS, []),
        ([(1000, 0.5)] * 8, [warm(2400, 2000)] * 4),
        ([(tokens, 0.3) for tokens in (50, 500, 1000, 2000)], [warm(2400, 2000)] * 4),
    ],
)
def test_too_little_to_tell(colds, looks):
    assert saved_share(colds, looks).saved is None


def test_cold_times_between_and_beyond_the_lengths_that_were_sent():
    times = ColdTimes([(100, 0.1), (102, 0.3), (101, 0.2), (201, 0.3)])
    assert times.at(101) == pytest.approx(0.2)
    assert times.at(151) == pytest.approx(0.25)
    assert times.at(1) == pytest.approx(0.1)
    assert times.at(401) == pytest.approx(0.5)
    assert ColdTimes([(100, 0.1)]).at(100) is None
