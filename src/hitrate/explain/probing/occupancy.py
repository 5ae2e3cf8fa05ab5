"""How many replicas, each with a cache of its own, stand behind an address, from one prompt sent again and again.

Sent to a replica at random each time, a prompt misses where that replica sees it for the first time: so the misses
count the distinct replicas reached, the classical occupancy problem (Feller, "An Introduction to Probability Theory
and Its Applications" I, II.5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from hitrate.core.results import Interval

TAIL = 0.01
"""Below the 2.5 % of a 95 % interval, to leave room for calls that were read wrongly and choices that are not even."""
MOST_REPLICAS = 4096
"""An upper bound beyond it is given as infinite."""


class Occupancy(Struct, frozen=True, kw_only=True):
    """`interval` is None where no send found what an earlier one had left. `in_turn`: the replicas were reached one
    after the other, so that their number is known and not estimated."""

    distinct: int
    sends: int
    interval: Interval | None
    in_turn: bool = False


def distinct_distribution(replicas: int, sends: int, stop_at: int | None = None) -> list[float]:
    """P(number of distinct replicas reached = index) after `sends`; with `stop_at`, no more are made when the first
    `stop_at` all reached one replica."""
    chances = [0.0] * (min(replicas, sends) + 2)
    chances[1] = 1.0
    stopped = 0.0
    for send in range(2, sends + 1):
        if stop_at is not None and send == stop_at + 1:
            stopped, chances[1] = chances[1], 0.0
        for distinct in range(len(chances) - 1, 0, -1):
            stay = chances[distinct] * distinct / replicas
            come = chances[distinct - 1] * (replicas - distinct + 1) / replicas
            chances[distinct] = stay + come
    chances[1] += stopped
    return chances


def replicas_behind(missed: Sequence[bool], *, stop_at: int | None = None, most_sends: int | None = None) -> Occupancy:
    """From the sends of one prompt in order, True for a miss (the first one always is).

    The interval inverts two exact one-sided tests of `TAIL` each (Clopper & Pearson, Biometrika 26, 1934) of the number
    of distinct replicas, under the rule by which sends stop: `stop_at`, else `most_sends` (default: as many as there
    are). So it covers the true number in more than 95 of 100 runs, if the choice is random and even.
    """
    sends = len(missed)
    distinct = max(1, sum(missed))
    if sends < 2 or distinct == sends:
        return Occupancy(distinct=distinct, sends=sends, interval=None)
    if _in_turn(missed, distinct):
        exact = Interval(distinct, distinct, distinct, sends)
        return Occupancy(distinct=distinct, sends=sends, interval=exact, in_turn=True)
    planned = most_sends if distinct == 1 and most_sends is not None else sends
    low = next(n for n in range(distinct, MOST_REPLICAS) if _at_least(n, planned, stop_at, distinct) > TAIL)
    high = _highest(distinct, planned, stop_at, low)
    return Occupancy(distinct=distinct, sends=sends, interval=Interval(_likeliest(distinct, sends), low, high, sends))


def _in_turn(missed: Sequence[bool], distinct: int) -> bool:
    """Misses first and only then hits, where a random choice would hardly ever come out like that."""
    if list(missed) != [True] * distinct + [False] * (len(missed) - distinct) or distinct < 3:
        return False
    # Of all numbers of replicas, `distinct` itself makes this order likeliest, unless there are very few hits.
    hits = len(missed) - distinct
    best = max(
        math.exp(math.lgamma(n + 1) - math.lgamma(n - distinct + 1) - distinct * math.log(n)) * (distinct / n) ** hits
        for n in range(distinct, 8 * distinct)
    )
    return best < 0.01 and hits >= 2


def _at_least(replicas: int, sends: int, stop_at: int | None, distinct: int) -> float:
    return math.fsum(distinct_distribution(replicas, sends, stop_at)[distinct:])


def _at_most(replicas: int, sends: int, stop_at: int | None, distinct: int) -> float:
    return math.fsum(distinct_distribution(replicas, sends, stop_at)[: distinct + 1])


def _highest(distinct: int, sends: int, stop_at: int | None, low: int) -> float:
    """The largest number of replicas under which so few would not be a surprise; more replicas, fewer repeats."""
    inside, outside = low, 2 * low
    while _at_most(outside, sends, stop_at, distinct) > TAIL:
        inside, outside = outside, 2 * outside
        if outside > MOST_REPLICAS:
            return math.inf
    while outside - inside > 1:
        middle = (inside + outside) // 2
        if _at_most(middle, sends, stop_at, distinct) > TAIL:
            inside = middle
        else:
            outside = middle
    return inside


def _likeliest(distinct: int, sends: int) -> float:
    """The number of replicas that makes this many distinct ones likeliest: L(n+1) / L(n) falls below 1 once."""
    number = distinct
    while number < MOST_REPLICAS:
        gain = math.log((number + 1) / (number + 1 - distinct)) + sends * math.log(number / (number + 1))
        if gain <= 0:
            break
        number += 1
    return float(number)
