"""Five minutes, an hour or keeping alive, by hand."""

from __future__ import annotations

import pytest

from hitrate.sim.lifetimes import Step, gaps, lifetimes

USD = 3e-6


@pytest.mark.parametrize(
    ("gap_s", "worth"),
    [
        # 1,000 tokens first; then a pause, 1,000 tokens of prefix and 100 new ones.
        (60, {"5m": 1250 + 100 + 125, "1h": 2000 + 100 + 200, "keep-alive": 1250 + 100 + 125}),
        (675, {"5m": 1250 + 1250 + 125, "1h": 2000 + 100 + 200, "keep-alive": 1250 + 2 * 100 + 100 + 125}),
        (7200, {"5m": 1250 + 1250 + 125, "1h": 2000 + 2000 + 200, "keep-alive": 1250 + 11 * 100 + 1250 + 125}),
    ],
)
def test_what_a_pause_costs(gap_s, worth) -> None:
    found = lifetimes([Step(None, 0, 1000, USD), Step(gap_s, 1000, 100, USD)])
    assert {way.name: way.input_tokens_worth for way in found} == worth
    assert [way.input_tokens_worth for way in found] == sorted(worth.values())
    assert {way.name: way.usd for way in found} == pytest.approx({name: USD * cost for name, cost in worth.items()})


def test_rewrites_and_pings_are_counted() -> None:
    steps = [Step(None, 0, 1000), Step(675, 1000, 100), Step(7200, 1100, 100)]
    counts = {way.name: (way.rewrites, way.pings) for way in lifetimes(steps)}
    assert counts == {"5m": (2, 0), "1h": (1, 0), "keep-alive": (1, 13)}


def test_no_price_no_amount() -> None:
    assert {way.usd for way in lifetimes([Step(None, 0, 1000, USD), Step(60, 1000, 100)])} == {None}


def test_pauses_by_what_outlives_them() -> None:
    steps = [Step(None, 0, 9), *(Step(gap, 9, 9) for gap in (1.0, 300.0, 301.0, 3600.0, 3601.0))]
    found = gaps(steps)
    assert found is not None
    assert (found.within_5m, found.within_1h, found.longer, found.median_s) == (2, 2, 1, 301.0)
    assert gaps([Step(None, 0, 9)]) is None
