"""Caches that take requests one by one: looking tells what serving will, and changes nothing."""

from __future__ import annotations

from array import array
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.sim.capacity.block_lru import BlockLru
from hitrate.sim.capacity.fifo import Fifo
from hitrate.sim.capacity.interface import SteppedCache
from hitrate.sim.capacity.leaf_lru import LeafLru, LeafLruInTurn
from hitrate.sim.capacity.vllm import VllmBlocks

Make = Callable[[int | None], SteppedCache]

STEPPED: list[tuple[str, Make]] = [
    ("leaf-lru", LeafLru),
    ("leaf-lru with a lifetime", lambda capacity: LeafLru(capacity, ttl_s=2.5)),
    ("leaf-lru-in-turn", LeafLruInTurn),
    ("fifo", Fifo),
    ("vllm", lambda capacity: VllmBlocks(capacity, 4)),
    ("vllm with a lifetime", lambda capacity: VllmBlocks(capacity, 4, ttl_s=2.5)),
    ("vllm with a minimum", lambda capacity: VllmBlocks(capacity, 4, minimum_tokens=8)),
]

requests = st.lists(
    st.tuples(st.lists(st.sampled_from([1, 2]), max_size=6), st.integers(0, 3), st.integers(0, 2)), max_size=30
)
"""Steps down a tree of prompts, tokens behind the last full block, seconds since the request before."""


@pytest.mark.parametrize("make", [make for _, make in STEPPED], ids=[name for name, _ in STEPPED])
@given(asked=requests, capacity=st.integers(1, 9) | st.none())
def test_peek_is_what_serve_answers(make: Make, asked: list, capacity: int | None) -> None:
    looked_at, left_alone = make(capacity), make(capacity)
    numbers: dict[tuple[int, ...], int] = {}
    now = 0.0
    for steps, rest, wait in asked:
        now += wait
        prefixes = [tuple(steps[: end + 1]) for end in range(len(steps))]
        ids = array("q", [numbers.setdefault(prefix, len(numbers)) for prefix in prefixes])
        tokens = 4 * len(ids) + rest

        seen = [looked_at.peek(ids, tokens, now) for _ in range(2)]

        served = looked_at.serve(ids, tokens, now)
        assert seen == [served, served]
        assert served == left_alone.serve(ids, tokens, now)
        looked_at.check_integrity()


def test_caches_of_single_blocks_take_whole_chunks_alone() -> None:
    assert isinstance(LeafLru(1), SteppedCache)
    assert not isinstance(BlockLru(1), SteppedCache)
