"""Each rule against a slow obvious one, on random traces with shared prefixes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from block_traces import chunk_of
from hypothesis import given
from hypothesis import strategies as st

from hitrate.caches.block_chain import BlockChainCache
from hitrate.core.trace import Chunk
from hitrate.sim.capacity.block_lfu import BlockLfu
from hitrate.sim.capacity.block_lru import BlockLru
from hitrate.sim.capacity.curve import LruCurve
from hitrate.sim.capacity.definitions import DEFINITIONS, Tally
from hitrate.sim.capacity.fifo import Fifo
from hitrate.sim.capacity.leaf_lru import LeafLru
from hitrate.sim.capacity.optimal import Optimal
from hitrate.sim.capacity.vllm import VllmBlocks

BLOCK = 4

prompts = st.lists(st.lists(st.integers(0, 2), max_size=12), max_size=25)
"""Token by token; three tokens, so that prefixes are shared."""


def blocks_of(prompts: Sequence[Sequence[int]], *, partial: bool = True) -> Chunk:
    step = [
        [tuple(prompt[start : start + BLOCK]) for start in range(0, len(prompt), BLOCK)]
        if partial
        else [tuple(prompt[start : start + BLOCK]) for start in range(0, len(prompt) - BLOCK + 1, BLOCK)]
        for prompt in prompts
    ]
    return chunk_of(step, [len(prompt) for prompt in prompts])


def requests_of(chunk: Chunk) -> list[list[int]]:
    return [list(chunk.ids[start:end]) for start, end in zip(chunk.starts, chunk.starts[1:], strict=False)]


@given(prompts, st.integers(3, 9), st.booleans())
def test_vllm_is_the_exact_block_chain(prompts: list[list[int]], capacity: int, partial: bool) -> None:
    cache = BlockChainCache(block_size=BLOCK, capacity_blocks=capacity)
    expected = []
    for prompt in prompts:
        lease = cache.begin(prompt) if prompt else None
        expected.append(0 if lease is None else lease.cached_tokens // BLOCK)
        if lease is not None:
            cache.finish(lease)

    quick = VllmBlocks(capacity, BLOCK)

    assert quick.add(blocks_of(prompts, partial=partial)) == expected
    quick.check_integrity()


@given(prompts, st.integers(1, 12))
def test_leaf_first_lru(prompts: list[list[int]], capacity: int) -> None:
    chunk = blocks_of(prompts)
    order: list[int] = []
    expected = []
    for asked in requests_of(chunk):
        expected.append(next((n for n, block in enumerate(asked) if block not in order), len(asked)))
        order = [*asked, *(block for block in order if block not in asked)][:capacity]

    quick = LeafLru(capacity)

    assert quick.add(chunk) == expected
    quick.check_integrity()


@given(prompts, st.sampled_from(["tokens", "vllm", "blocks", "full-blocks", "request-mean", "even-tokens"]))
def test_the_curve_is_leaf_first_lru_at_each_capacity(prompts: list[list[int]], name: str) -> None:
    chunk = blocks_of(prompts)
    curve = LruCurve(DEFINITIONS[name], BLOCK, first=3)
    curve.add(chunk)

    for capacity in (*range(1, 15), None):
        tally = Tally(DEFINITIONS[name], BLOCK, first=3)
        tally.add(chunk, LeafLru(capacity).add(chunk))
        assert curve.hits(capacity) == pytest.approx(tally.hits)
        assert curve.whole == pytest.approx(tally.whole)


def test_the_curve_outlives_the_moments_it_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hitrate.sim.capacity.last_uses._SMALLEST", 16)
    chunk = blocks_of([[n % 7, n % 3] * 6 for n in range(200)])
    curve = LruCurve(DEFINITIONS["blocks"], BLOCK)
    curve.add(chunk)

    for capacity in (20, 50, 60, 70):
        tally = Tally(DEFINITIONS["blocks"], BLOCK)
        tally.add(chunk, LeafLru(capacity).add(chunk))
        assert curve.hits(capacity) == tally.hits
    assert curve.hits(70) > 0


@given(prompts, st.integers(1, 12))
def test_fifo(prompts: list[list[int]], capacity: int) -> None:
    chunk = blocks_of(prompts)
    queue: list[int] = []
    expected = []
    for asked in requests_of(chunk):
        expected.append(next((n for n, block in enumerate(asked) if block not in queue), len(asked)))
        for block in asked:
            if block not in queue:
                queue = [*queue, block][-capacity:]

    quick = Fifo(capacity)

    assert quick.add(chunk) == expected
    quick.check_integrity()


@given(prompts, st.integers(1, 12), st.booleans())
def test_block_lru(prompts: list[list[int]], capacity: int, in_turn: bool) -> None:
    chunk = blocks_of(prompts)
    order: list[int] = []
    expected = []
    for asked in requests_of(chunk):
        together = sum(block in order for block in asked)
        one_by_one = 0
        for block in asked:
            one_by_one += block in order
            order = [block, *(other for other in order if other != block)][:capacity]
        expected.append(one_by_one if in_turn else together)

    quick = BlockLru(capacity, in_turn=in_turn)

    assert quick.add(chunk) == expected
    quick.check_integrity()


@given(prompts, st.integers(1, 12))
def test_block_lfu(prompts: list[list[int]], capacity: int) -> None:
    chunk = blocks_of(prompts)
    uses: dict[int, tuple[int, int]] = {}
    now = 0
    expected = []
    for asked in requests_of(chunk):
        hits = 0
        for block in asked:
            now += 1
            hits += block in uses
            if block not in uses and len(uses) == capacity:
                del uses[min(uses, key=lambda other: uses[other])]
            uses[block] = (uses.get(block, (0, 0))[0] + 1, now)
        expected.append(hits)

    quick = BlockLfu(capacity, in_turn=True)

    assert quick.add(chunk) == expected
    quick.check_integrity()


@given(prompts, st.integers(1, 12))
def test_no_rule_beats_the_optimal_one(prompts: list[list[int]], capacity: int) -> None:
    chunk = blocks_of(prompts)
    optimal = Optimal(capacity)
    best = sum(optimal.add(chunk))
    optimal.check_integrity()

    unlimited = sum(Optimal(None).add(chunk))
    assert sum(LeafLru(capacity).add(chunk)) <= best <= unlimited == sum(LeafLru(None).add(chunk))
    assert sum(Fifo(capacity).add(chunk)) <= best
