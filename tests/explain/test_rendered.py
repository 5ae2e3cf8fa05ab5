"""What two rendered prompts have in common behind the place where they part."""

from __future__ import annotations

import pytest

from hitrate.explain.rendered import kept_runs

ONE = "The nursery takes plants back within eleven days of the order. "
TWO = "A refund needs a photograph of the plant and the number of it. "
THREE = "Agents never ask for a card number, whatever the customer says. "


@pytest.mark.parametrize(
    ("was", "now", "kept"),
    [
        pytest.param("a" + ONE, "b" + ONE, len(ONE), id="the end"),
        pytest.param("a" + ONE + "x", "b" + ONE + "yz", len(ONE), id="the middle"),
        pytest.param("a" + ONE + "x" + TWO, "b" + ONE + "yz" + TWO, len(ONE + TWO), id="two runs"),
        pytest.param("a" + ONE + TWO, "b" + TWO + ONE, len(ONE + TWO), id="another order"),
        pytest.param("a" + ONE + TWO + THREE, "b" + THREE, len(THREE), id="some gone"),
        pytest.param("a" + ONE, "b" + TWO + ONE + THREE, len(ONE), id="some new"),
        pytest.param("a" + ONE, "b" + ONE[:30], 0, id="too short to say anything"),
        pytest.param("a" + ONE, "b" + THREE, 0, id="nothing"),
        pytest.param("a", "b", 0, id="no more text"),
        pytest.param("a" + ONE * 200, "b" + ONE * 200, 200 * len(ONE), id="longer than a block"),
    ],
)
def test_runs_of_text_behind_a_change(was: str, now: str, kept: int):
    assert kept_runs(was, now, 0) == kept


def test_a_text_in_front_of_the_change_is_not_behind_it():
    assert kept_runs(ONE + "a" + TWO, ONE + "b" + ONE, len(ONE)) == 0
