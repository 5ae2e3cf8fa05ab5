"""Calls as probes see them, and times read as counts."""

from __future__ import annotations

import pytest

from hitrate.core.model import Call, Reply, Timing, Usage
from hitrate.explain.probing.looks import Eye, Look, fit_scale, look_at

REPLY = Reply(message={"role": "assistant", "content": "Yes."}, text="Yes.")
TIMING = Timing(at=0.0, sent_at_s=10.0, ttft_s=0.5, total_s=0.9)


def call(**members):
    usual = {"reply": REPLY, "usage": Usage(prompt_tokens=100, cached_tokens=96, output_tokens=1), "timing": TIMING}
    return Call(target="t", dialect="openai-chat", body=b"{}", **{**usual, **members})


def look(prompt=1000, cached=None, ttft=None):
    return Look(prompt_tokens=prompt, cached_tokens=cached, ttft_s=ttft, sent_at_s=0, first_token_at_s=0, ended_at_s=0)


def test_an_answered_call():
    seen = look_at(call())
    assert (seen.prompt_tokens, seen.cached_tokens, seen.ttft_s) == (100, 96, 0.5)
    assert (seen.sent_at_s, seen.first_token_at_s, seen.ended_at_s, seen.output_tokens) == (10.0, 10.5, 10.9, 1)


def test_without_a_first_token_the_end_stands_in_for_it():
    seen = look_at(call(timing=Timing(at=0.0, sent_at_s=10.0, total_s=0.9)))
    assert (seen.ttft_s, seen.first_token_at_s) == (None, 10.9)


@pytest.mark.parametrize(
    "members",
    [
        {"reply": None, "error": "HTTP 500"},
        {"error": "the stream ended before the reply was finished"},
        {"timing": None},
        {"usage": Usage()},
        {"usage": Usage(prompt_tokens=10, cached_tokens=11)},
    ],
)
def test_a_call_that_is_no_evidence(members):
    assert look_at(call(**members)) is None


def test_seconds_against_uncached_tokens():
    scale = fit_scale([(tokens, 0.02 + tokens / 2000) for tokens in (100, 500, 900, 1300, 2000)])
    assert (round(scale.base_s, 6), round(scale.seconds_per_token, 9), scale.calls) == (0.02, 0.0005, 5)
    assert scale.served(look(prompt=1000, ttft=0.12)) == pytest.approx(800)
    assert scale.served(look(prompt=1000)) is None
    assert scale.spread_s == pytest.approx(0, abs=1e-9)


def test_one_slow_call_in_five_does_not_bend_it():
    points = [(tokens, 0.02 + tokens / 2000) for tokens in (100, 500, 900, 1300, 2000)]
    bent = [*points[:2], (900, 7.0), *points[3:]]
    assert fit_scale(bent).seconds_per_token == pytest.approx(0.0005)


@pytest.mark.parametrize("points", [[], [(100, 0.1), (2000, 1.0)], [(1000, 0.5)] * 6, [(1000, 0.5), (1200, 0.6)] * 4])
def test_lengths_that_give_no_slope(points):
    assert fit_scale(points) is None


def test_a_spread_hides_what_saves_less_than_three_of_it():
    points = [(tokens, tokens / 1000 + noise) for tokens in (100, 1000, 2000) for noise in (-0.1, 0.0, 0.1)]
    scale = fit_scale(points)
    assert scale.tells(1000) and not scale.tells(100)


@pytest.mark.parametrize(
    ("cached", "expected", "found"), [(1000, 1000, True), (500, 1000, True), (499, 1000, False), (None, 1000, None)]
)
def test_found_by_counts(cached, expected, found):
    assert Eye("counts").found(look(cached=cached), expected) is found


BY_TIME = Eye("time", cold_s=1.0, warm_s=0.1, size=1000, spread_s=0.05)


@pytest.mark.parametrize(
    ("prompt", "ttft", "expected", "found"),
    [
        (1000, 0.12, 1000, True),
        (1000, 0.98, 1000, False),
        (2000, 1.05, 1000, True),
        (2000, 1.90, 1000, False),
        (1000, None, 1000, None),
        (1000, 0.12, 100, None),
    ],
)
def test_found_by_time(prompt, ttft, expected, found):
    assert BY_TIME.found(look(prompt=prompt, ttft=ttft), expected) is found


def test_nothing_is_found_while_nothing_is_known():
    assert Eye().found(look(cached=1000, ttft=0.1), 1000) is None
    assert not Eye().tells(1e6) and Eye("counts").tells(1) and BY_TIME.tells(500)
