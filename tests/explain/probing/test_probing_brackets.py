"""Thresholds in time between two tries."""

from __future__ import annotations

import pytest

from hitrate.explain.probing.brackets import Bracket, between, delay_bracket, lifetime_bracket


@pytest.mark.parametrize(
    ("tries", "bracket"),
    [
        ([(0.1, False), (4, False), (7, True), (9, True)], Bracket(4, 7)),
        ([(0.1, True)], Bracket(None, 0.1)),
        ([(0.1, False)], Bracket(0.1, None)),
        ([(0.1, True), (4, False)], None),
        ([], Bracket(None, None)),
    ],
)
def test_delay(tries, bracket):
    assert delay_bracket(tries) == bracket


@pytest.mark.parametrize(
    ("tries", "bracket"),
    [
        ([(1, True), (4, True), (16, False)], Bracket(4, 16)),
        ([(16, False), (1, True)], Bracket(1, 16)),
        ([(1, False)], Bracket(None, 1)),
        ([(60, True)], Bracket(60, None)),
        ([(1, False), (60, True)], None),
    ],
)
def test_lifetime(tries, bracket):
    assert lifetime_bracket(tries) == bracket


def test_places_between_are_even_by_ratio():
    assert between(1, 16, 4) == [2, 4, 8]
    assert between(0, 64, 2) == [8]
