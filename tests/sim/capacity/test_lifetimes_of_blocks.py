"""Lifetimes and minimums of the block rules, against the exact models and slow obvious ones."""

from __future__ import annotations

from array import array

import pytest
from block_traces import chunk_of
from hypothesis import given
from hypothesis import strategies as st

from hitrate.caches.block_chain import BlockChainCache
from hitrate.core.trace import Chunk
from hitrate.sim.capacity.leaf_lru import LeafLru
from hitrate.sim.capacity.vllm import VllmBlocks

BLOCK = 4

timed = st.lists(st.tuples(st.integers(0, 4), st.lists(st.integers(0, 2), min_size=1, max_size=14)), max_size=25)
"""Seconds since the request before, and a prompt token by token."""


def timed_chunk(requests: list[tuple[int, list[int]]]) -> Chunk:
    prompts = [
        [tuple(prompt[start : start + BLOCK]) for start in range(0, len(prompt), BLOCK)] for _, prompt in requests
    ]
    now, times = 0, array("d")
    for pause, _ in requests:
        now += pause
        times.append(now)
    return chunk_of(prompts, [len(prompt) for _, prompt in requests])._replace(at_s=times)


@given(timed, st.integers(4, 9), st.integers(0, 10), st.integers(0, 12))
def test_vllm_with_a_lifetime_and_a_minimum_is_the_exact_block_chain(
    requests: list[tuple[int, list[int]]], capacity: int, ttl_s: int, minimum: int
) -> None:
    chunk = timed_chunk(requests)
    cache = BlockChainCache(block_size=BLOCK, capacity_blocks=capacity, ttl_s=ttl_s, minimum_tokens=minimum)
    expected = []
    for now, (_, prompt) in zip(chunk.at_s, requests, strict=True):
        lease = cache.begin(prompt, now=now)
        assert lease is not None
        expected.append(lease.cached_tokens // BLOCK)
        cache.finish(lease, now=now)

    quick = VllmBlocks(capacity, BLOCK, minimum_tokens=minimum, ttl_s=ttl_s)

    assert quick.add(chunk) == expected
    quick.check_integrity()


@given(timed, st.integers(1, 9), st.integers(0, 10))
def test_leaf_lru_drops_what_nobody_used_for_so_long(
    requests: list[tuple[int, list[int]]], capacity: int, ttl_s: int
) -> None:
    chunk = timed_chunk(requests)
    order: list[int] = []
    used: dict[int, float] = {}
    expected = []
    for now, start, end in zip(chunk.at_s, chunk.starts, chunk.starts[1:], strict=False):
        asked = list(chunk.ids[start:end])
        order = [block for block in order if now - used[block] <= ttl_s]
        expected.append(next((n for n, block in enumerate(asked) if block not in order), len(asked)))
        order = [*asked, *(block for block in order if block not in asked)][:capacity]
        used.update(dict.fromkeys(asked, now))

    quick = LeafLru(capacity, ttl_s=ttl_s)

    assert quick.add(chunk) == expected
    quick.check_integrity()


@pytest.mark.parametrize(("minimum", "served"), [(0, [0, 2]), (8, [0, 2]), (9, [0, 0])])
def test_a_hit_below_the_minimum_is_not_credited(minimum: int, served: list[int]) -> None:
    chunk = chunk_of(["abx", "aby"], [12, 12])

    assert VllmBlocks(None, BLOCK, minimum_tokens=minimum).add(chunk) == served
