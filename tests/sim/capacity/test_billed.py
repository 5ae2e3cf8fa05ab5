"""Tokens as a vendor bills them, by the size of prompts."""

from __future__ import annotations

from array import array

from hitrate.core.trace import UNKNOWN, Chunk
from hitrate.sim.capacity.billed import Billed, BilledTally
from hitrate.sim.capacity.definitions import DEFINITIONS

CHUNK = Chunk(
    array("d", [0.0, 1.0, 2.0]),
    array("q", [8, 10, 11]),
    array("q", [5, UNKNOWN, 7]),
    array("q", [0, 0, 0]),
    array("q", [0, 2, 5, 8]),
    array("q", range(8)),
)
"""Blocks of 4 tokens."""


def sums(above: tuple[int, ...], served: list[int]) -> tuple[Billed, ...]:
    tally = BilledTally(above, DEFINITIONS["tokens"], 4)
    tally.add(CHUNK, served)
    return tally.sums()


def test_one_price_for_all() -> None:
    assert sums((), [0, 2, 3]) == (Billed(3, 29, 8 + 11, 12, 1),)


def test_a_prompt_has_to_exceed_a_step_for_its_price() -> None:
    assert sums((8, 10), [2, 1, 0]) == (Billed(1, 8, 8, 5, 0), Billed(1, 10, 4, 0, 1), Billed(1, 11, 0, 7, 0))


def test_no_more_is_billed_as_cached_than_was_sent() -> None:
    evenly = BilledTally((), DEFINITIONS["even-tokens"], 4)
    evenly.add(CHUNK, [2, 3, 3])

    assert evenly.sums()[0].hit_tokens == 8 + 9 + 11
