"""One small result of each kind, with the odd rows that formats have to get right."""

from __future__ import annotations

import pytest

from hitrate.core import results
from hitrate.core.comparison import Comparison, compare


def turn(number: int, prompt, cached, expected, ttft, state, **more) -> results.TurnRow:
    return results.TurnRow(
        **{"run": "sequential", "session": 1, **more},
        turn=number,
        prompt_tokens=prompt,
        cached_tokens=cached,
        expected_cached_tokens=expected,
        hit_rate=None if cached is None else cached / prompt,
        ttft_ms=ttft,
        state=state,
    )


@pytest.fixture
def test_result() -> results.TestResult:
    return results.TestResult(
        run_id="r7k2m9",
        started_at="2026-11-29T12:00:00Z",
        target="practice",
        model="small-model",
        expectation=results.Expectation(rule_set="vllm-2026-11", basis="exact", note="block 16"),
        turns=(
            turn(1, 3012, 0, 0, 740.04, "cold"),
            turn(2, 3060, 3008, 3008, 36.04, "hit"),
            turn(3, 3108, 1504, 3056, 402.5, "partial"),
            turn(4, 3160, None, 3104, 37.25, "not reported"),
            turn(5, None, None, None, None, "failed", note="stream cut after 12 tokens"),
        ),
        aggregate=results.Aggregate(
            prompt_tokens=9180,
            cached_tokens=4512,
            hit_rate=4512 / 9180,
            not_reported=1,
            calls=5,
            failed=1,
            ttft_cold_p50_ms=740.04,
            ttft_warm_p50_ms=36.04,
        ),
        verdict=results.Verdict(
            healthy=False, routing_is_a_factor=None, text="Turn 3 found half of its history.", granularity=16
        ),
        measurement=results.Measurement(
            loop_lag_p99_ms=0.4, late_first_reads=0, calls=5, achieved_concurrency=1.0, asked_concurrency=1
        ),
        cost_usd=0.00123,
        warnings=("one call of 5 failed",),
    )


def bench_call(number: int, role: str, ttft, cached, expected, state) -> results.BenchCall:
    return results.BenchCall(
        call=number,
        role=role,
        ttft_ms=ttft,
        prompt_tokens=3000,
        cached_tokens=cached,
        expected_cached_tokens=expected,
        state=state,
        hit_rate=None if cached is None else cached / 3000,
    )


@pytest.fixture
def bench_result() -> results.BenchResult:
    stable = results.BenchRow(
        order="stable-first",
        shape="opening",
        first_ms=740.0,
        rest_p50_ms=36.0,
        rest_p95_ms=38.9,
        speedup_x=20.556,
        cold_p50_ms=742.0,
        cold_speedup=results.Interval(20.6, 19.1, 22.0, 4),
        prompt_tokens=3000,
        cached_tokens=2960,
        hit_rate=2960 / 3000,
        calls=(
            bench_call(1, "first", 740.0, 0, 0, "cold"),
            bench_call(2, "warm-up", 735.0, 0, 2960, "warm-up"),
            bench_call(3, "warm", 36.0, 2960, 2960, "hit"),
            bench_call(3, "cold", 742.0, 0, 0, "cold"),
            bench_call(4, "warm", 38.9, 2960, 2960, "hit"),
        ),
    )
    variable = results.BenchRow(
        order="variable-first",
        shape="opening",
        first_ms=744.0,
        rest_p50_ms=712.0,
        rest_p95_ms=730.0,
        speedup_x=1.045,
        prompt_tokens=3000,
        cached_tokens=0,
        hit_rate=0.0,
        calls=(
            bench_call(1, "first", 744.0, 0, 0, "cold"),
            bench_call(2, "warm", 712.0, 0, 0, "cold"),
        ),
    )
    return results.BenchResult(
        run_id="rb3nch",
        started_at="2026-11-29T12:00:00Z",
        target="practice",
        model="small-model",
        expectation=results.Expectation(rule_set="vllm-2026-11", basis="estimated", note="block 16"),
        rows=(stable, variable),
        measurement=results.Measurement(
            loop_lag_p99_ms=0.4,
            late_first_reads=1,
            calls=7,
            achieved_concurrency=1.0,
            asked_concurrency=1,
            retries=2,
            waited_s=3.0,
        ),
    )


@pytest.fixture
def many_sessions() -> results.TestResult:
    """300 sessions of two turns, the second of which finds its history in every other session."""
    rows = [turn(1, 1000, 0, 0, 500.0, "cold", run="parallel", session=session) for session in range(1, 301)]
    rows += [
        turn(2, 1100, 992 * (session % 2), 992, 50.0, "hit" if session % 2 else "miss", run="parallel", session=session)
        for session in range(1, 301)
    ]
    return results.TestResult(
        target="practice",
        turns=tuple(rows),
        per_turn=(
            results.PerTurn(run="parallel", turn=1, found=None, hit_rate=0.0, ttft_p50_ms=500.0),
            results.PerTurn(
                run="parallel", turn=2, found=results.Interval(0.5, 0.444, 0.556, 300), hit_rate=0.451, ttft_p50_ms=50.0
            ),
        ),
        aggregate=results.Aggregate(
            prompt_tokens=630_000, cached_tokens=148_800, hit_rate=148_800 / 630_000, not_reported=0, calls=600
        ),
        verdict=results.Verdict(
            healthy=False,
            routing_is_a_factor=True,
            text="Calls of one session reach different replicas.",
            cause="replica",
            replicas=results.Interval(2.0, 1.8, 2.3, 300),
            repeatable=False,
        ),
    )


@pytest.fixture
def comparison(test_result) -> Comparison:
    coarse = results.TestResult(
        target="hosted",
        model="other-model",
        turns=(
            turn(1, 3012, 0, 0, 900.0, "cold"),
            turn(2, 3060, 2944, 2944, 90.0, "hit"),
            turn(3, 3108, 3072, 3072, 91.0, "hit"),
            turn(4, 3160, 3072, 3072, 92.0, "hit"),
        ),
        aggregate=results.Aggregate(prompt_tokens=12340, cached_tokens=9088, hit_rate=9088 / 12340, not_reported=0),
        verdict=results.Verdict(healthy=True, routing_is_a_factor=None, text="", granularity=128),
    )
    return compare(test_result, coarse)


HOSTILE = "m\x1b[31m\u202e[bold]|<script>alert(1)</script>\n=1+1"
"""An ANSI code, a bidirectional override, rich markup, a table separator, HTML, a line break."""


@pytest.fixture
def hostile(test_result) -> results.TestResult:
    return results.TestResult(
        target=HOSTILE,
        model="=cmd|' /C calc'!A0",
        turns=(turn(1, 10, 5, None, 1.0, "partial", note="\u2028" + HOSTILE),),
        aggregate=test_result.aggregate,
        verdict=results.Verdict(healthy=None, routing_is_a_factor=None, text=HOSTILE),
        warnings=(HOSTILE,),
    )
