"""Pairs of runs in, reasons out."""

from __future__ import annotations

import pytest

from hitrate.core import results
from hitrate.core.comparison import compare


def run_of(*calls: tuple[int | None, int | None], granularity=None, states=None):
    """A sequential test of (prompt, cached) pairs, by a cache whose rule is not known unless states say so."""
    turns = tuple(
        results.TurnRow(
            run="sequential",
            session=1,
            turn=number,
            prompt_tokens=prompt,
            cached_tokens=cached,
            expected_cached_tokens=None,
            hit_rate=None,
            ttft_ms=100.0 / number,
            state=(states or {}).get(number, "partial" if cached else "cold"),
        )
        for number, (prompt, cached) in enumerate(calls, 1)
    )
    return results.TestResult(
        target="x",
        turns=turns,
        aggregate=results.Aggregate(prompt_tokens=None, cached_tokens=None, hit_rate=None, not_reported=0),
        verdict=results.Verdict(healthy=True, routing_is_a_factor=None, text="", granularity=granularity),
    )


FINE = run_of((1000, 0), (1100, 992), (1200, 1088), (1300, 1184), granularity=16)


@pytest.mark.parametrize(
    ("b", "reasons", "in_sum"),
    [
        pytest.param(FINE, ["equal"] * 4, "equal", id="the same run"),
        pytest.param(
            run_of((1000, 0), (1100, 896), (1200, 1024), (1300, 1152), granularity=128),
            ["equal", "granularity", "granularity", "granularity"],
            "granularity",
            id="steps of 128 against blocks of 16",
        ),
        pytest.param(
            run_of((1000, 0), (1100, 896), (1200, 1024), (1300, 1152), (1400, 1280), (1500, 1408)),
            ["equal", "granularity", "granularity", "granularity", "only in B", "only in B"],
            "granularity",
            id="the step is read from five counts",
        ),
        pytest.param(
            run_of((1000, 0), (1100, 896), (1200, 896)),
            ["equal", "step not known", "step not known", "only in A"],
            "step not known",
            id="two counts are too few for a step",
        ),
        pytest.param(
            run_of((1000, 0), (1100, 896), (1200, 512), (1300, 1152), granularity=128),
            ["equal", "granularity", "missed reuse", "granularity"],
            "missed reuse",
            id="one turn falls back by more than a step",
        ),
        pytest.param(
            run_of((1000, 0), (1100, 0), (1200, 1088), (1300, 1184), granularity=16),
            ["equal", "missed reuse", "equal", "equal"],
            "missed reuse",
            id="one turn reuses nothing",
        ),
        pytest.param(
            run_of((1000, 0), (1100, 0), (1200, 1088), (1300, 1184), granularity=16, states={2: "too short"}),
            ["equal", "too short", "equal", "equal"],
            "too short",
            id="below the minimum",
        ),
        pytest.param(
            run_of((1000, 960), (1100, 992), (1200, 1088), (1300, 1184), granularity=16),
            ["already warm", "equal", "equal", "equal"],
            "already warm",
            id="B was warm before the run",
        ),
        pytest.param(
            run_of((1000, 0), (1100, 512), (1200, 1088), (1300, 1184), granularity=16, states={2: "hit"}),
            ["equal", "cache rule", "equal", "equal"],
            "cache rule",
            id="the rule of B predicts the gap",
        ),
        pytest.param(
            run_of((1000, 17), (1100, 896), (1200, 1024), (1300, 1152), (1400, 1280), (1500, 1408), states={1: "cold"}),
            ["equal", "granularity", "granularity", "granularity", "only in B", "only in B"],
            "granularity",
            id="the head of the chat template is no reuse and no step",
        ),
        pytest.param(
            run_of((1000, None), (1100, None), (1200, None), (1300, None)),
            ["not reported"] * 4,
            "not reported",
            id="B reports nothing",
        ),
        pytest.param(
            run_of((1000, 0), (None, None), (1200, 1088), (1300, 1184), states={2: "failed"}),
            ["equal", "failed", "equal", "equal"],
            "equal",
            id="a failed call",
        ),
        pytest.param(
            run_of((1000, 0), (1100, 5000), (1200, 1088), (1300, 1184)),
            ["equal", "not reported", "equal", "equal"],
            "equal",
            id="more cached than prompt tokens forms no rate",
        ),
        pytest.param(
            run_of((2000, 0), (2200, 1984), (2400, 2176), (2600, 2368), granularity=32),
            ["equal"] * 4,
            "equal",
            id="a tokeniser that needs twice the tokens",
        ),
    ],
)
def test_reasons(b, reasons, in_sum):
    comparison = compare(FINE, b)
    assert [call.reason for call in comparison.calls] == reasons
    assert comparison.reason == in_sum


def test_the_sides_can_be_swapped():
    coarse = run_of((1000, 0), (1100, 896), (1200, 1024), (1300, 1152), granularity=128)
    forth, back = compare(FINE, coarse), compare(coarse, FINE)
    assert [call.reason for call in back.calls] == [call.reason for call in forth.calls]
    assert back.hit_rate_difference == -forth.hit_rate_difference
    assert back.calls[1].text == "A is 96 tokens short, less than its step of 128"
    assert forth.calls[1].text == "B is 96 tokens short, less than its step of 128"


def test_a_step_of_the_full_side_does_not_excuse_the_short_side():
    coarse = run_of((1000, 0), (1100, 1024), granularity=128)
    fine = run_of((1000, 0), (1100, 960), granularity=16)
    assert compare(coarse, fine).calls[1].text == "B is 64 tokens short, 4 whole steps of 16 or more"


def test_sums_are_over_the_calls_that_both_sides_report():
    a = run_of((1000, 0), (1000, 800))
    b = run_of((1000, None), (1000, 600))
    comparison = compare(a, b)
    assert (comparison.a.hit_rate, comparison.b.hit_rate) == (0.8, 0.6)
    assert comparison.hit_rate_difference == pytest.approx(-0.2)
    assert (comparison.a.prompt_tokens, comparison.b.prompt_tokens) == (1000, 1000)


def test_missed_and_granular_tokens_are_told_apart():
    b = run_of((1000, 0), (1100, 896), (1200, 512), (1300, 1152), granularity=128)
    comparison = compare(FINE, b)
    assert (comparison.granularity_tokens, comparison.missed_tokens) == (96 + 32, 576)
    assert comparison.text == (
        "A 71.0 %, B 55.7 % of prompt tokens from cache: 576 tokens are missed reuse "
        "(sequential session 1 turn 3), 128 are granularity"
    )


def test_calls_of_one_side_only_are_kept_and_warned_about():
    comparison = compare(FINE, run_of((1000, 0), (1100, 992), granularity=16))
    assert [(call.reason, call.prompt_tokens_b) for call in comparison.calls[2:]] == [("only in A", None)] * 2
    assert comparison.warnings == ("2 of 4 calls exist on one side only: the runs are not the same conversation",)


def bench_of(*cached: int) -> results.BenchResult:
    calls = tuple(
        results.BenchCall(
            call=number,
            role="first" if number == 1 else "warm",
            ttft_ms=30.0,
            prompt_tokens=3000,
            cached_tokens=count,
            expected_cached_tokens=None,
            state="hit",
        )
        for number, count in enumerate(cached, 1)
    )
    row = results.BenchRow(
        order="stable-first", shape="opening", first_ms=1, rest_p50_ms=1, rest_p95_ms=1, speedup_x=1, calls=calls
    )
    return results.BenchResult(target="x", rows=(row,))


def test_benches_are_paired_call_by_call():
    comparison = compare(bench_of(0, 2900, 2900), bench_of(0, 2900, 0))
    assert [(call.run, call.turn, call.reason) for call in comparison.calls] == [
        ("stable-first opening", 1, "equal"),
        ("stable-first opening", 2, "equal"),
        ("stable-first opening", 3, "missed reuse"),
    ]


def test_results_of_different_kinds_are_refused_in_one_line():
    with pytest.raises(ValueError, match=r"^a test run cannot be compared with a bench run: .*$"):
        compare(FINE, bench_of(0))
