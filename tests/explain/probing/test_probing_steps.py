"""In which step tokens are credited."""

from __future__ import annotations

import pytest

from hitrate.explain.probing.steps import fit_step, fit_step_of_longer, fit_timed_step

LENGTHS = (40, 150, 317, 541, 877, 1290, 1805, 2411)


def credited(step, lengths=LENGTHS, minimum=0):
    points = [(length, (length - 1) // step * step) for length in lengths]
    return [(length, cached) for length, cached in points if cached > 0 and cached >= minimum]


def confirmed(step, minimum=0):
    """As the probe does it: the lengths asked for are tried until one answer is left."""
    points = credited(step, minimum=minimum)
    fit = fit_step(points)
    tries = 0
    while not fit.sure and fit.try_next is not None and tries < 4:
        points += credited(step, [fit.try_next], minimum)
        fit = fit_step(points)
        tries += 1
    return fit


@pytest.mark.parametrize("minimum", [0, 1024])
@pytest.mark.parametrize("step", [1, 8, 16, 24, 32, 64, 100, 128, 256, 512, 600])
def test_every_step_is_recovered(step, minimum):
    fit = confirmed(step, minimum)
    assert (fit.step, fit.sure) == (step, True)


def test_a_constant_tail_is_a_step_of_one():
    fit = fit_step([(length, length - 3) for length in LENGTHS])
    assert (fit.step, fit.tail, fit.sure) == (1, 3, True)


def test_lengths_whole_steps_apart_prove_nothing():
    fit = fit_step([(513, 512), (1025, 1024)])
    assert (fit.sure, fit.try_next) == (False, 1032)


@pytest.mark.parametrize("header", [0, 3, 8])
def test_prompts_that_go_on_share_no_header_of_a_reply(header):
    points = [(length, (length - header - 1) // 256 * 256) for length in (317, 541, 877, 1025, 1290, 1805, 2411)]
    assert fit_step_of_longer(points).step == 256
    assert fit_step_of_longer([(1000, 700), (1500, 900), (2000, 1501)]).step is None


def test_no_step_fits():
    assert fit_step([(1000, 700), (1500, 900), (2000, 1501)]).step is None
    assert fit_step([]).step is None
    assert fit_step([]).try_next is None


@pytest.mark.parametrize("step", [16, 64, 256, 1024])
def test_a_step_by_time(step):
    points = [(length, (length - 1) // step * step + noise) for length, noise in zip(LENGTHS, (2, -3) * 4, strict=True)]
    assert fit_timed_step(points, spread_tokens=2.0) == step


def test_noise_hides_a_step():
    points = [(length, float((length - 1) // 64 * 64)) for length in LENGTHS]
    assert fit_timed_step(points, spread_tokens=50.0) is None
    assert fit_timed_step(points[:3], spread_tokens=0.0) is None
