"""Results in, the numbers of the plots out."""

from __future__ import annotations

import pytest

from hitrate.report import series
from hitrate.report.series import TokenBar, TurnPoint


def test_calls_of_a_bench_with_cold_ones_in_between(bench_result):
    stable = series.ttft_per_call(bench_result.rows[0])
    assert [(mark.place, mark.ttft_ms, mark.kept) for mark in stable.marks] == [
        (1.0, 740.0, False),
        (2.0, 735.0, False),
        (3.0, 36.0, True),
        (3.5, 742.0, False),
        (4.0, 38.9, True),
    ]
    assert (stable.calls, stable.first_ms, stable.rest_p50_ms) == (4, 740.0, 36.0)


def test_hit_rate_over_sessions_with_its_extremes(many_sessions):
    (parallel,) = series.hit_rate_per_turn(many_sessions)
    assert (parallel.name, parallel.sessions) == ("parallel", 300)
    assert parallel.points == (TurnPoint(1, 0.0, 0.0, 0.0), TurnPoint(2, 496 / 1100, 0.0, 992 / 1100))


def test_a_turn_that_nobody_reports_cuts_the_line(test_result):
    (sequential,) = series.hit_rate_per_turn(test_result)
    assert [[point.turn for point in piece] for piece in sequential.pieces()] == [[1, 2, 3]]
    gap = series.TurnSeries(
        name="x", sessions=1, points=tuple(TurnPoint(turn, 0.5, 0.5, 0.5) for turn in (1, 2, 4, 5, 7))
    )
    assert [[point.turn for point in piece] for piece in gap.pieces()] == [[1, 2], [4, 5], [7]]


def test_tokens_of_one_conversation_leave_unknown_unknown(test_result):
    tokens = series.tokens_per_turn(test_result)
    assert tokens.name == "sequential, session 1"
    assert tokens.bars[2:] == (TokenBar(3, 3108, 1504, 3056), TokenBar(4, 3160, None, 3104))


@pytest.mark.parametrize(
    ("highest", "expected"),
    [
        (740, [0, 200, 400, 600, 800]),
        (100, [0, 25, 50, 75, 100]),
        (3160, [0, 1000, 2000, 3000, 4000]),
        (36.5, [0, 10, 20, 30, 40]),
        (0.07, [0, 0.02, 0.04, 0.06, 0.08]),
        (1, [0, 0.25, 0.5, 0.75, 1.0]),
        (0, [0, 1]),
        (1_000_000, [0, 250_000, 500_000, 750_000, 1_000_000]),
    ],
)
def test_ticks(highest, expected):
    assert series.ticks(highest) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("first", "last", "most", "expected"),
    [
        (1, 5, 10, [1, 2, 3, 4, 5]),
        (1, 1, 10, [1]),
        (1, 12, 11, [1, 3, 5, 7, 9, 11]),
        (1, 40, 10, [1, 5, 10, 15, 20, 25, 30, 35, 40]),
        (1, 100, 11, [1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]),
    ],
)
def test_axis_numbers(first, last, most, expected):
    assert list(series.axis_numbers(first, last, most)) == expected
