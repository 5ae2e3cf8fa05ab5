"""Is anything reused, and is it told."""

from __future__ import annotations

import random

import pytest

from hitrate.explain.probing.hidden import judge_reuse
from hitrate.explain.probing.looks import Look


def looks(times, cached=None, prompt=2600):
    return [
        Look(prompt_tokens=prompt, cached_tokens=cached, ttft_s=ttft, sent_at_s=0, first_token_at_s=0, ended_at_s=0)
        for ttft in times
    ]


COLD = [1.0, 1.1, 0.9, 1.05, 0.95, 1.02, 1.01, 0.99]
WARM = [0.1, 0.11, 0.12, 0.09, 0.1, 0.13, 0.1, 0.14]


@pytest.mark.parametrize(
    ("cold", "warm", "cached", "told", "hidden", "basis"),
    [
        (COLD, WARM, 2592, "counts", False, "counts"),
        (COLD, WARM, None, "absent", True, "time"),
        (COLD, WARM, 0, "zero", True, "time"),
        (COLD, WARM, 12, "zero", True, "time"),
        (COLD, COLD[::-1], None, "absent", False, None),
        (COLD, COLD[::-1], 0, "zero", False, None),
        (COLD[:4], WARM[:4], None, "absent", False, None),
        ([None] * 8, [None] * 8, None, "absent", False, None),
    ],
)
def test_judgements(cold, warm, cached, told, hidden, basis):
    reuse = judge_reuse(looks(cold), looks(warm, cached))
    assert (reuse.told, reuse.hidden, reuse.eye.basis) == (told, hidden, basis)


def test_times_that_differ_but_overlap_show_reuse_and_do_not_stand_in_for_counts():
    source = random.Random(3)
    cold = [source.gauss(1.0, 0.25) for _ in range(16)]
    warm = [source.gauss(0.6, 0.25) for _ in range(16)]
    reuse = judge_reuse(looks(cold), looks(warm))
    assert reuse.hidden and reuse.eye.basis is None


def test_noise_alone_is_called_reuse_in_at_most_2_of_100_runs():
    source = random.Random(5)

    def times():
        return looks([source.lognormvariate(0, 0.5) for _ in range(8)])

    assert sum(judge_reuse(times(), times()).hidden for _ in range(1000)) <= 20
