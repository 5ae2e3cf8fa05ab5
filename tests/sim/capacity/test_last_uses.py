"""Moments of last use, against a plain set of them."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.sim.capacity import last_uses
from hitrate.sim.capacity.last_uses import LastUses


def test_counting_across_pages() -> None:
    uses = LastUses()
    uses.set(1, 2_001)
    uses.clear(500, 1_100)

    assert [uses.count_from(moment) for moment in (1, 500, 511, 512, 1_024, 1_100, 2_000, 2_001, 3_000)] == [
        1_400,
        901,
        901,
        901,
        901,
        901,
        1,
        0,
        0,
    ]


def test_moments_are_counted_anew() -> None:
    uses = LastUses()
    uses.set(1, 10)
    uses.clear(3, 6)

    assert uses.renumber(array("q", [9, 0, 2, 1, 6]), 5) == array("q", [6, 0, 2, 1, 3])
    assert [uses.count_from(moment) for moment in (1, 6, 7)] == [6, 1, 0]


@pytest.mark.parametrize("more", [0, 1, 100_000, 1_000_000])
def test_there_is_room_for_as_many_as_asked_for(more: int) -> None:
    uses = LastUses()
    uses.set(1, 200_001)
    uses.renumber(array("q"), more)
    uses.set(200_001, 200_001 + more)

    assert uses.room >= 200_001 + more
    assert uses.count == 200_000 + more


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 20)), max_size=12), st.integers(1, 4))
def test_any_runs(runs: list[tuple[int, int]], page_bits: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(last_uses, "_PAGE_BITS", page_bits)
        uses = LastUses()
        moments: set[int] = set()
        for first, length in runs:
            run = set(range(first, first + length))
            if run.isdisjoint(moments):
                uses.set(first, first + length)
                moments |= run
            elif run <= moments:
                uses.clear(first, first + length)
                moments -= run

        assert uses.count == len(moments)
        assert [uses.count_from(moment) for moment in range(90)] == [
            sum(one >= moment for one in moments) for moment in range(90)
        ]
