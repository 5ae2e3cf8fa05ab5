"""The exact rank-sum test, against counting all orders by hand."""

from __future__ import annotations

from itertools import combinations

import pytest

from hitrate.explain.probing.ranks import shorter_p


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [
        ([1, 2, 3], [4, 5, 6], 1 / 20),
        ([4, 5, 6], [1, 2, 3], 1.0),
        ([1], [2], 1 / 2),
        ([1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12], 1 / 924),
        ([], [1], 1.0),
        ([1], [], 1.0),
    ],
)
def test_known_values(first, second, p):
    assert shorter_p(first, second) == pytest.approx(p)


@pytest.mark.parametrize("chosen", list(combinations(range(7), 3)))
def test_every_order_of_seven(chosen):
    def wins(first):
        return sum(a < b for a in first for b in range(7) if b not in first)

    orders = list(combinations(range(7), 3))
    as_many = sum(wins(order) >= wins(chosen) for order in orders)
    rest = [number for number in range(7) if number not in chosen]
    assert shorter_p(chosen, rest) == pytest.approx(as_many / len(orders))


def test_ties_are_no_evidence():
    assert shorter_p([1.0] * 8, [1.0] * 8) > 0.5
