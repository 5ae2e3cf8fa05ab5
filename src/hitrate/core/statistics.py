"""The few statistics hitrate needs, each with its source. Nothing here draws an unseeded random number."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from statistics import NormalDist

from hitrate.core.results import Interval

_LARGE_SAMPLE = 200
"""Degrees of freedom above which the expansion of Student's quantile is exact to 1e-9."""


def quantile(values: Sequence[float], share: float) -> float:
    """The `share` quantile, 0..1, interpolated between the two nearest observations.

    Type 7 of Hyndman & Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50 (1996): the
    default of R, NumPy and spreadsheets. ValueError without observations.
    """
    if not values or not 0 <= share <= 1:
        raise ValueError(f"no {share} quantile of {len(values)} values")
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def median(values: Sequence[float]) -> float:
    return quantile(values, 0.5)


def wilson(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """A share with its score interval; it stays inside 0..1 and is usable from a few observations on.

    Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 22 (1927), no continuity
    correction. ValueError unless 0 <= successes <= n and n > 0.
    """
    if n <= 0 or not 0 <= successes <= n:
        raise ValueError(f"no share from {successes} of {n}")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = successes / n
    centre = share + z * z / (2 * n)
    reach = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # With none or all the bound is 0 or 1 exactly; rounding must not say otherwise.
    low = 0.0 if successes == 0 else (centre - reach) / scale
    high = 1.0 if successes == n else (centre + reach) / scale
    return Interval(share, low, high, n)


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """The mean with Student's t interval. One observation says nothing about its spread: the bounds are infinite."""
    n = len(values)
    if n == 0:
        raise ValueError("no mean of no values")
    mean = math.fsum(values) / n
    if n == 1:
        return Interval(mean, -math.inf, math.inf, 1)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    reach = _student_quantile(confidence, n - 1) * math.sqrt(variance / n)
    return Interval(mean, mean - reach, mean + reach, n)


def bootstrap_median_ratio(
    first: Sequence[float], rest: Sequence[float], seed: int, *, confidence: float = 0.95, resamples: int = 2000
) -> Interval:
    """median(first) / median(rest) of positive values, with the percentile interval of seeded resamples.

    Efron & Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13; both samples are drawn anew. `n` counts
    both. With a single value in `first` the interval holds the spread of `rest` alone.
    """
    if not first or not rest or min(*first, *rest) <= 0:
        raise ValueError("a ratio of medians needs positive values on both sides")
    source = random.Random(seed)
    ratios = [
        median(source.choices(first, k=len(first))) / median(source.choices(rest, k=len(rest)))
        for _ in range(resamples)
    ]
    tail = (1 - confidence) / 2
    estimate = median(first) / median(rest)
    return Interval(estimate, quantile(ratios, tail), quantile(ratios, 1 - tail), len(first) + len(rest))


def fisher_exact(a: int, b: int, c: int, d: int) -> float:
    """Two-sided p of the table [[a, b], [c, d]]: the tables with the same margins that are no likelier than this one.

    Fisher, "The Logic of Inductive Inference", JRSS 98 (1935); the two-sided rule of R and SciPy, here in exact
    integers. Meant for up to some thousand observations. ValueError on negative counts.
    """
    if min(a, b, c, d) < 0:
        raise ValueError(f"counts cannot be negative: {a}, {b}, {c}, {d}")
    row, other_row, column = a + b, c + d, a + c
    ways = [
        math.comb(row, x) * math.comb(other_row, column - x)
        for x in range(max(0, column - other_row), min(row, column) + 1)
    ]
    seen = math.comb(row, a) * math.comb(other_row, c)
    return sum(way for way in ways if way <= seen) / math.comb(row + other_row, column)


def mad_outliers(values: Sequence[float], threshold: float = 3.5) -> tuple[int, ...]:
    """Indices of the values whose modified z-score is above `threshold`.

    Iglewicz & Hoaglin, "How to Detect and Handle Outliers" (1993): 0.6745 (x - median) / MAD, threshold 3.5. When
    more than half of the values are equal the MAD is 0, and the mean absolute deviation times 1.2533 stands in.
    """
    if not values:
        return ()
    centre = median(values)
    deviations = [abs(value - centre) for value in values]
    spread = median(deviations) / 0.6745
    if spread == 0:
        spread = 1.253314 * math.fsum(deviations) / len(deviations)
    if spread == 0:
        return ()
    return tuple(index for index, deviation in enumerate(deviations) if deviation / spread > threshold)


def _student_quantile(confidence: float, freedom: int) -> float:
    """t with P(|T| <= t) = confidence."""
    if freedom > _LARGE_SAMPLE:
        return _student_expansion(NormalDist().inv_cdf((1 + confidence) / 2), freedom)
    angle = _bisect(lambda theta: _student_within(theta, freedom) < confidence, 0.0, math.pi / 2)
    return math.sqrt(freedom) * math.tan(angle)


def _student_within(theta: float, freedom: int) -> float:
    """P(|T| <= sqrt(freedom) tan(theta)): Abramowitz & Stegun, "Handbook of Mathematical Functions", 26.7.3-4."""
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = freedom % 2
    if freedom == 1:
        return 2 * theta / math.pi
    term = total = cosine if odd else 1.0
    for k in range(3 if odd else 2, freedom - 1, 2):
        term *= (k - 1) / k * cosine * cosine
        total += term
    return 2 / math.pi * (theta + sine * total) if odd else sine * total


def _student_expansion(z: float, freedom: int) -> float:
    """Abramowitz & Stegun 26.7.5, four terms."""
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom ** (power + 1) for power, term in enumerate(terms))


def _bisect(is_below: Callable[[float], bool], low: float, high: float) -> float:
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return (low + high) / 2
