"""Expected numbers were computed with SciPy 1.17 and NumPy (`stats.t`, `binomtest`, `fisher_exact`, `quantile`)."""

import math

import pytest

from hitrate.core.results import Interval
from hitrate.core.statistics import (
    bootstrap_median_ratio,
    fisher_exact,
    mad_outliers,
    mean_interval,
    median,
    quantile,
    wilson,
)

MIXED = [1.0, 4.0, 2.0, 9.0, 7.5, 3.25]


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0, 1.0), (0.05, 1.25), (0.25, 2.3125), (0.5, 3.625), (0.9, 8.25), (0.95, 8.625), (1, 9.0)],
)
def test_quantile_is_type_7(share, expected):
    assert quantile(MIXED, share) == pytest.approx(expected, abs=1e-12)


def test_quantile_of_one_value_is_that_value():
    assert quantile([5.0], 0.95) == 5.0
    assert median([3]) == 3


@pytest.mark.parametrize(("values", "share"), [([], 0.5), ([1.0], 1.1), ([1.0], -0.1)])
def test_quantile_refuses(values, share):
    with pytest.raises(ValueError, match="quantile"):
        quantile(values, share)


@pytest.mark.parametrize(
    ("successes", "n", "confidence", "low", "high"),
    [
        (0, 10, 0.95, 0.0, 0.27753279986288926),
        (1, 18, 0.95, 0.009875190978303083, 0.25757300781872594),
        (3, 10, 0.95, 0.10779126740630102, 0.6032218525388546),
        (10, 10, 0.95, 0.7224672001371109, 1.0),
        (47, 60, 0.95, 0.6637997242680521, 0.868769559518097),
        (3, 10, 0.90, 0.1268765839031979, 0.5583002041301649),
        (0, 1, 0.95, 0.0, 0.7934506856227626),
    ],
)
def test_wilson(successes, n, confidence, low, high):
    found = wilson(successes, n, confidence)
    assert (found.estimate, found.n) == (successes / n, n)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)


@pytest.mark.parametrize(("successes", "n"), [(0, 0), (-1, 5), (6, 5)])
def test_wilson_refuses(successes, n):
    with pytest.raises(ValueError, match="no share"):
        wilson(successes, n)


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([3.0, 5.0], -8.706204736174694, 16.706204736174694),
        ([1, 2, 4], -1.461249700263426, 6.1279163669300925),
        ([10.0, 12, 9, 11, 13, 10.5], 9.417160595878816, 12.416172737454517),
        (range(201), 91.90961634207058, 108.09038365792942),
        (range(202), 92.38986097775152, 108.61013902224848),
        (range(300), 139.6439658842114, 159.3560341157886),
    ],
)
def test_mean_interval(values, low, high):
    found = mean_interval(list(values))
    assert found.estimate == pytest.approx(sum(values) / len(values))
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)


def test_mean_of_one_value_has_no_bounds():
    assert mean_interval([7.0]) == Interval(7.0, -math.inf, math.inf, 1)


@pytest.mark.parametrize(
    ("table", "p"),
    [
        ((8, 2, 1, 5), 0.034965034965034975),
        ((0, 18, 1, 17), 1.0),
        ((12, 0, 0, 12), 7.39602301050679e-07),
        ((0, 12, 12, 0), 7.39602301050679e-07),
        ((3, 1, 1, 3), 0.48571428571428565),
        ((10, 2, 3, 15), 0.0005367241191434357),
        ((5, 0, 0, 0), 1.0),
        ((0, 0, 0, 0), 1.0),
    ],
)
def test_fisher_exact(table, p):
    assert fisher_exact(*table) == pytest.approx(p, rel=1e-12)


def test_fisher_exact_refuses_negative_counts():
    with pytest.raises(ValueError, match="negative"):
        fisher_exact(1, -1, 2, 3)


@pytest.mark.parametrize(
    ("values", "outliers"),
    [
        ([], ()),
        ([5.0], ()),
        ([5.0, 5.0, 5.0], ()),
        # median 11, MAD 1: 0.6745 * (30 - 11) / 1 = 12.8, and 16 gives 3.37
        ([10, 11, 12, 10, 12, 11, 30], (6,)),
        ([10, 11, 12, 10, 12, 11, 16], ()),
        ([10, 11, 12, 10, 12, 11, 17], (6,)),
        # MAD 0: mean deviation 1.6, 8 / (1.2533 * 1.6) = 3.99
        ([1, 1, 1, 1, 9], (4,)),
    ],
)
def test_mad_outliers(values, outliers):
    assert mad_outliers(values) == outliers


def test_bootstrap_ratio_of_equal_samples_is_exactly_one():
    assert bootstrap_median_ratio([2.0] * 5, [2.0] * 9, seed=1) == Interval(1.0, 1.0, 1.0, 14)


def test_bootstrap_bounds_are_reached_by_the_extremes_of_tiny_samples():
    # Two values each: a resample is all-low or all-high with probability 1/4, far more often than the 2.5 % tails.
    assert bootstrap_median_ratio([10.0, 20.0], [1.0, 2.0], seed=3) == Interval(10.0, 5.0, 20.0, 4)


def test_bootstrap_is_a_function_of_its_seed():
    first, rest = [740.0, 752.0, 731.0, 760.0], [36.0, 35.0, 37.5, 38.0, 36.2, 34.0]
    assert bootstrap_median_ratio(first, rest, seed=7) == bootstrap_median_ratio(first, rest, seed=7)
    found = bootstrap_median_ratio(first, rest, seed=7)
    assert found.estimate == pytest.approx(746 / 36.1)
    assert found.low < found.estimate < found.high


@pytest.mark.parametrize(("first", "rest"), [([], [1.0]), ([1.0], []), ([0.0], [1.0]), ([1.0], [1.0, -2.0])])
def test_bootstrap_refuses(first, rest):
    with pytest.raises(ValueError, match="positive"):
        bootstrap_median_ratio(first, rest, seed=1)
