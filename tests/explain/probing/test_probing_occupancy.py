"""How many replicas, from one prompt sent again and again."""

from __future__ import annotations

import math
from itertools import product

import pytest

from hitrate.explain.probing.occupancy import TAIL, distinct_distribution, replicas_behind


@pytest.mark.parametrize(("replicas", "sends"), [(1, 4), (2, 5), (3, 4), (5, 5), (4, 3)])
def test_distribution_is_that_of_all_choices(replicas, sends):
    choices = list(product(range(replicas), repeat=sends))
    for distinct, chance in enumerate(distinct_distribution(replicas, sends)):
        assert chance == pytest.approx(sum(len(set(one)) == distinct for one in choices) / len(choices))


@pytest.mark.parametrize(("replicas", "sends", "stop_at"), [(2, 6, 3), (3, 5, 2), (1, 5, 3)])
def test_distribution_with_an_early_stop(replicas, sends, stop_at):
    choices = list(product(range(replicas), repeat=sends))
    ended = [1 if len(set(one[:stop_at])) == 1 else len(set(one)) for one in choices]
    for distinct, chance in enumerate(distinct_distribution(replicas, sends, stop_at)):
        assert chance == pytest.approx(ended.count(distinct) / len(choices))


def pattern(text):
    return [sign == "m" for sign in text]


@pytest.mark.parametrize(
    ("sends", "estimate", "low", "high"),
    [
        ("mhhhhhhh", 1, 1, 1),
        ("mhmhhhhhhhhhhhhhhhhhhhhh", 2, 2, 2),
        ("mmhmhhmhhhhhhhhhhhhhhhhh", 4, 4, 5),
        ("mmmmmhmmhmmhmhhmmhhhmhmm", 22, 15, 51),
    ],
)
def test_intervals(sends, estimate, low, high):
    interval = replicas_behind(pattern(sends), stop_at=8, most_sends=24).interval
    assert (interval.estimate, interval.low, interval.high, interval.n) == (estimate, low, high, len(sends))


def test_all_missed_says_nothing():
    assert replicas_behind(pattern("mmmmmmmm")).interval is None
    assert replicas_behind(pattern("m")).interval is None


def test_few_repeats_leave_the_upper_side_open():
    assert math.isinf(replicas_behind(pattern("m" * 23 + "h")).interval.high)


def test_replicas_used_in_turn_are_counted_not_estimated():
    seen = replicas_behind(pattern("m" * 18 + "h" * 6))
    assert seen.in_turn and (seen.interval.low, seen.interval.high) == (18, 18)
    assert not replicas_behind(pattern("mmmhhhh")).in_turn


@pytest.mark.parametrize("replicas", [1, 2, 3, 5, 8, 13, 18, 30])
def test_the_interval_covers_in_more_than_95_of_100(replicas):
    """Over all outcomes with their exact chances: no sampling."""
    sends, covered = 24, 0.0
    for distinct, chance in enumerate(distinct_distribution(replicas, sends, 8)):
        if distinct == 0 or chance == 0:
            continue
        length = 8 if distinct == 1 else sends
        # Not in one block, which would be taken for replicas used in turn.
        missed = [True] + [False] * (length - distinct) + [True] * (distinct - 1)
        interval = replicas_behind(missed, stop_at=8, most_sends=sends).interval
        covered += chance * (interval is None or interval.low <= replicas <= interval.high)
    assert covered >= 1 - 2 * TAIL > 0.95
