"""The conversation trace of Mooncake (FAST'25): figures of engines and other simulators, to the token."""

from __future__ import annotations

from functools import cache

import pytest
from block_traces import mooncake

from hitrate.sim.capacity.block_lfu import BlockLfu
from hitrate.sim.capacity.block_lru import BlockLru
from hitrate.sim.capacity.curve import LruCurve
from hitrate.sim.capacity.definitions import DEFINITIONS, Tally
from hitrate.sim.capacity.fifo import Fifo
from hitrate.sim.capacity.interface import BlockCache
from hitrate.sim.capacity.leaf_lru import LeafLru
from hitrate.sim.capacity.optimal import Optimal
from hitrate.sim.capacity.vllm import VllmBlocks

CAPACITIES = (1_000, 5_859, 10_000, 30_000, 50_000, 100_000)
HALF = 12_031 // 2


@cache
def curve_of(definition: str, first: int = 0) -> LruCurve:
    curve = LruCurve(DEFINITIONS[definition], 512, first)
    curve.add(mooncake())
    return curve


def hits(blocks: BlockCache, definition: str, first: int = 0) -> float:
    tally = Tally(DEFINITIONS[definition], 512, first)
    tally.add(mooncake(), blocks.add(mooncake()))
    blocks.check_integrity()
    return tally.hits


def rate(blocks: BlockCache, definition: str) -> float:
    tally = Tally(DEFINITIONS[definition], 512)
    tally.add(mooncake(), blocks.add(mooncake()))
    return round(100 * (tally.rate or 0), 2)


@pytest.mark.parametrize(
    ("capacity", "tokens"),
    [
        (1_000, 6_649_856),
        (5_859, 20_807_680),
        (10_000, 31_744_512),
        (30_000, 48_812_032),
        (50_000, 52_594_176),
        (100_000, 53_722_112),
        (None, 54_063_104),
    ],
)
def test_vllms_own_manager_serves_as_many_tokens(capacity: int | None, tokens: int) -> None:
    assert hits(VllmBlocks(capacity, 512), "vllm") == tokens


def test_one_pass_gives_every_capacity_of_leaf_first_lru() -> None:
    curve = curve_of("tokens")

    assert curve.points(CAPACITIES) == [6_575_459, 20_087_299, 31_238_981, 48_093_740, 52_347_371, 53_695_979]
    assert (curve.hits(None), curve.whole) == (54_098_411, 144_793_823)


def test_the_last_half_as_kvcache_simulator_counts_it() -> None:
    curve = curve_of("tokens", HALF)

    assert curve.points(CAPACITIES) == [3_173_822, 9_286_131, 14_910_149, 23_347_784, 25_582_964, 26_635_636]
    assert (curve.hits(None), curve.whole) == (27_038_068, 67_915_607)
    assert hits(Fifo(5_859), "tokens", HALF) == 8_712_833
    assert hits(Optimal(5_859), "tokens", HALF) == 25_548_279


@pytest.mark.parametrize("capacity", [5_859])
def test_one_capacity_alone_agrees_with_the_curve(capacity: int) -> None:
    curve = curve_of("tokens")

    assert hits(LeafLru(capacity), "tokens") == curve.hits(capacity)


def test_blocks_one_by_one_as_libcachesim_counts_them() -> None:
    assert hits(BlockLru(50_000, in_turn=True), "any-block") == 102_290
    assert hits(BlockLfu(50_000, in_turn=True), "any-block") == 99_189


def test_blocks_looked_up_together() -> None:
    lru = [rate(BlockLru(capacity), "any-block") for capacity in (1_000, 10_000, 30_000, 50_000, 100_000, None)]
    lfu = [rate(BlockLfu(capacity), "any-block") for capacity in (1_000, 10_000, 30_000, 50_000, 100_000, None)]

    assert lru == [4.45, 21.16, 32.57, 35.46, 36.37, 36.64]
    assert lfu == [4.81, 13.22, 27.60, 34.38, 36.31, 36.64]


@pytest.mark.parametrize(
    ("definition", "percent"),
    [("request-mean", 38.4), ("blocks", 36.6), ("tokens", 37.4), ("vllm", 37.3), ("full-blocks", 38.2)],
)
def test_one_trace_has_several_hit_rates(definition: str, percent: float) -> None:
    curve = curve_of(definition)

    assert round(100 * curve.hits(None) / curve.whole, 1) == percent
