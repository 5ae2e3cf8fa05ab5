"""The arithmetic of a business case, with figures that are public or can be worked out by hand."""

from __future__ import annotations

import pytest

from hitrate.core.business_case import (
    ColdWarm,
    Estimated,
    Spent,
    Spread,
    TurnRate,
    cold_and_warm,
    grouped_turns,
    speedup,
    strength_of,
    without_losses,
)
from hitrate.core.model import Usage
from hitrate.core.money import Bill, Price, bill

MILLION = Usage(prompt_tokens=1_000_000, cached_tokens=900_000)


@pytest.mark.parametrize(("cached_price", "usd", "saved"), [(0.006, 0.0354, 0.88), (0.15, 0.165, 0.45)])
def test_a_million_tokens_of_which_nine_in_ten_repeat(cached_price, usd, saved) -> None:
    found = bill(MILLION, Price(input_usd_per_mtok=0.3, cached_usd_per_mtok=cached_price))
    assert isinstance(found, Bill)
    assert (float(found.usd), float(found.without_caching)) == (usd, 0.3)
    assert 1 - float(found.usd / found.without_caching) == pytest.approx(saved, abs=0.005)


def measured(cached: int | None, prompt: int, usd: float | None) -> Spent:
    return Spent(
        calls=20,
        prompt_tokens=prompt,
        cached_tokens=cached,
        hit_rate=None if cached is None else cached / prompt,
        usd=usd,
        output_usd=None,
        usd_without_caching=None,
        usd_saved=None,
    )


@pytest.mark.parametrize(
    ("cached", "usd", "lost", "lost_usd", "expected"),
    [
        # Twenty calls of 3,600 tokens; what repeats is 66,500 of 72,000.
        (0, 0.0216, 66_500, 0.01, (0.92, 0.0116)),
        (60_000, 0.0216, 6_500, None, (0.92, None)),
        (60_000, None, 6_500, None, (0.92, None)),
        (70_000, 0.0216, 6_500, 0.0, (1.0, 0.0216)),
        (None, 0.0216, None, None, (None, None)),
    ],
)
def test_a_log_without_its_losses(cached, usd, lost, lost_usd, expected) -> None:
    found = without_losses(measured(cached, 72_000, usd), 72_000, lost, lost_usd)
    rate, after = expected
    assert found == Estimated(
        lost_tokens=lost,
        saved_usd=lost_usd,
        hit_rate=None if rate is None else pytest.approx(rate, abs=0.005),
        usd=None if after is None else pytest.approx(after),
    )


def test_session_p95_of_1_9_s_became_0_35_s() -> None:
    assert speedup(1.9, 0.35) == pytest.approx(5.4, abs=0.05)
    assert speedup(1.9, 0.0) is None


def test_cold_and_warm_are_told_by_the_share_from_cache() -> None:
    cold = [(0.0, 1900.0, 8000), (0.05, 1900.0, 8000), (0.09, 1900.0, None)]
    warm = [(0.5, 350.0, 9000), (0.98, 350.0, 9000), (1.0, 350.0, 9000)]
    found = cold_and_warm([*cold, (0.3, 900.0, 8000), *warm], seed=0)
    assert found is not None
    assert found.cold == Spread(calls=3, p50_ms=1900.0, p95_ms=1900.0, prompt_tokens_p50=8000)
    assert found.warm == Spread(calls=3, p50_ms=350.0, p95_ms=350.0, prompt_tokens_p50=9000)
    assert (found.between, found.speedup_p50_x, found.speedup_p95_x) == (1, 1900 / 350, 1900 / 350)
    assert found.speedup is not None and found.speedup.n == 6
    assert found.speedup.low == found.speedup.high == pytest.approx(5.43, abs=0.005)


def test_with_one_side_alone_nothing_is_compared() -> None:
    assert cold_and_warm([], seed=0) is None
    spread = Spread(calls=1, p50_ms=20.0, p95_ms=20.0, prompt_tokens_p50=100)
    assert cold_and_warm([(0.9, 20.0, 100)], seed=0) == ColdWarm(
        cold=None, warm=spread, between=0, speedup_p50_x=None, speedup_p95_x=None, speedup=None
    )


def test_two_calls_a_side_have_no_interval() -> None:
    found = cold_and_warm([(0.0, 10.0, 1), (0.0, 20.0, 1), (1.0, 5.0, 1), (1.0, 5.0, 1)], seed=0)
    assert found is not None and (found.speedup_p50_x, found.speedup) == (3.0, None)


def test_many_times_are_drawn_from_evenly_and_counted_whole() -> None:
    times = [(0.0, 100.0 + number % 50, 1) for number in range(2000)] + [(1.0, 20.0, 1)] * 2000
    found = cold_and_warm(times, seed=0)
    assert found is not None and found.speedup is not None
    assert found.speedup.n == 4000
    assert found.speedup.low <= found.speedup.estimate <= found.speedup.high


def test_a_turn_has_the_median_and_the_middle_half_of_its_conversations() -> None:
    rates = [(0, 1, 0.0), (1, 1, 0.0), (0, 2, 0.2), (1, 2, 0.4), (2, 2, 0.6), (3, 2, 0.8), (4, 2, 1.0)]
    assert grouped_turns(rates) == (
        TurnRate(turn=1, last_turn=1, calls=2, conversations=2, median=0.0, low=0.0, high=0.0),
        TurnRate(turn=2, last_turn=2, calls=5, conversations=5, median=0.6, low=0.4, high=0.8),
    )
    assert grouped_turns([]) == ()


@pytest.mark.parametrize(
    ("turns", "groups", "first", "last"),
    [(40, 40, (1, 1), (40, 40)), (41, 21, (1, 2), (41, 41)), (484, 25, (1, 20), (481, 484))],
)
def test_long_conversations_are_shown_by_groups_of_turns(turns, groups, first, last) -> None:
    found = grouped_turns([(0, turn, 1.0) for turn in range(1, turns + 1)])
    assert len(found) == groups
    assert [(one.turn, one.last_turn) for one in (found[0], found[-1])] == [first, last]
    assert sum(one.calls for one in found) == turns


@pytest.mark.parametrize(
    ("hours", "strength"), [(0.5, None), (23.9, None), (24, "weak"), (24 * 6.9, "weak"), (24 * 7, "fair")]
)
def test_how_much_of_a_month_a_log_has_seen(hours, strength) -> None:
    found = strength_of(3600 * hours)
    assert (found and found[0]) == strength
