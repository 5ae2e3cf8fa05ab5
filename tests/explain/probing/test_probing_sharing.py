"""Whether another party's reads are like hits or unlike one's own."""

from __future__ import annotations

import random

import pytest

from hitrate.explain.probing.sharing import by_counts, by_time

HIT, MISS = [True], [False]


@pytest.mark.parametrize(
    ("others", "own", "controls", "verdict"),
    [
        (HIT * 4, HIT * 4, MISS * 20, "shared"),
        (MISS * 4, HIT * 4, MISS * 20, "apart"),
        (MISS * 4, MISS * 4, MISS * 20, None),
        (HIT * 1 + MISS * 3, HIT * 2 + MISS * 2, MISS * 20, None),
        (HIT * 2 + MISS * 2, HIT * 3 + MISS * 1, MISS * 60, "shared"),
        (HIT * 4, HIT * 4, HIT * 10 + MISS * 10, None),
        ([], [], [], None),
    ],
)
def test_by_counts(others, own, controls, verdict):
    assert by_counts(others, own, controls).verdict == verdict


COLD, WARM = [1.0, 1.1, 0.9, 1.05, 0.95, 1.02], [0.1, 0.11, 0.12, 0.09, 0.1, 0.13]


@pytest.mark.parametrize(
    ("others", "own", "verdict"),
    [(WARM[::-1], WARM, "shared"), (COLD[::-1], WARM, "apart"), (COLD[:3] + WARM[:3], WARM, None), ([], [], None)],
)
def test_by_time(others, own, verdict):
    assert by_time(others, own, COLD).verdict == verdict


def test_noise_alone_is_called_shared_in_at_most_5_of_100_runs():
    source = random.Random(1)

    def times():
        return [source.lognormvariate(0, 0.5) for _ in range(6)]

    wrong = sum(by_time(times(), times(), times()).verdict == "shared" for _ in range(1000))
    assert wrong <= 50
