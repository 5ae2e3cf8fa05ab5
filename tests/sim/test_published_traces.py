"""Public traces that are not in the repository, held to what was published of them: HITRATE_TRACES names the folder."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import mean, median
from typing import Any

import pytest

from hitrate.core.trace import Trace
from hitrate.logs.traces.sniff import open_trace
from hitrate.sim.capacity.chained import Chains
from hitrate.sim.capacity.definitions import DEFINITIONS, Tally
from hitrate.sim.capacity.leaf_lru import LeafLru, LeafLruInTurn
from hitrate.simulating import Last, Wanted, simulate

TRACES = os.environ.get("HITRATE_TRACES", "")

pytestmark = pytest.mark.skipif(not TRACES, reason="HITRATE_TRACES is not set")

HALF = Last(share=0.5)


def opened(name: str) -> Trace:
    trace = open_trace(str(Path(TRACES) / name))
    assert trace is not None
    return trace


def ragpulse() -> Trace:
    return opened("ragpulse/0_trace.jsonl.gz")


@cache
def published() -> dict[int, list[int]]:
    """Hit tokens of FIFO, LRU and the optimum over the last half, by capacity: every sixth of 183 rows, and that of a
    cache shorter than prompts (https://github.com/kvcache-ai/kvcache-blog at 9753288,
    data/kv_cache_lab/precomputed.json)."""
    file = Path(TRACES) / "ragpulse" / "expected_kvcache_blog_half.json"
    rows = sorted((int(blocks), found) for blocks, found in json.loads(file.read_bytes())["capacityResults"].items())
    return dict(rows[::6]) | {8: dict(rows)[8]}


@cache
def found(rules: tuple[str, ...], definition: str) -> dict[tuple[str, int], int]:
    wanted = Wanted(rules=rules, definitions=(definition,), capacities=tuple(published()), last=HALF)
    rows = simulate(ragpulse(), wanted).rows
    return {(row.rule_set, row.capacity_blocks or 0): row.hit_tokens or 0 for row in rows}


def test_each_published_row_of_ragpulse_is_of_one_definition() -> None:
    leading = found(("fifo", "leaf-lru-in-turn"), "even-tokens")
    anywhere = found(("fifo-in-turn", "block-lru-in-turn"), "any-block-tokens")
    named = {"even-tokens": 0, "any-block-tokens": 0}
    for blocks, (fifo, lru, _) in published().items():
        if (fifo, lru) == (leading["fifo", blocks], leading["leaf-lru-in-turn", blocks]):
            named["even-tokens"] += 1
        else:
            assert (fifo, lru) == (anywhere["fifo-in-turn", blocks], anywhere["block-lru-in-turn", blocks])
            named["any-block-tokens"] += 1

    assert named == {"even-tokens": 18, "any-block-tokens": 14}


@pytest.mark.parametrize(
    ("kind", "blocks", "hit_tokens"),
    # published: 8 blocks. The others are kvcache-simulator's own, of this trace
    [
        (LeafLruInTurn, 2, 703_920),
        (LeafLruInTurn, 5, 1_136_880),
        (LeafLruInTurn, 8, 1_278_085),
        (LeafLruInTurn, 11, 1_317_775),
        (LeafLruInTurn, 16, 1_472_754),
        (LeafLru, 8, 1_278_426),
        (LeafLru, 16, 1_472_754),
    ],
)
def test_the_row_of_ragpulse_whose_prompts_are_longer_than_the_cache(
    kind: type[LeafLru], blocks: int, hit_tokens: int
) -> None:
    cache, chains = kind(blocks), Chains()
    tally = Tally(DEFINITIONS["even-tokens"], ragpulse().facts.block_tokens, first=3_553)
    for chunk in map(chains.of, ragpulse().chunks()):
        prompts = [chunk.ids[start:end] for start, end in pairwise(chunk.starts)]
        tally.add(chunk, [cache.serve(asked, 0, 0.0) for asked in prompts])

    assert tally.hits == hit_tokens


@pytest.mark.parametrize(
    ("definition", "rule", "percent"), [("even-tokens", "leaf-lru", 17.8), ("any-block-tokens", "block-lru", 72.7)]
)
def test_the_most_there_is_of_ragpulse(definition: str, rule: str, percent: float) -> None:
    row = simulate(ragpulse(), Wanted(rules=(rule,), definitions=(definition,), last=HALF)).rows[0]

    assert round(100 * (row.hit_rate or 0), 1) == percent
    assert row.counted == 10_535_055


def test_the_optimum_of_ragpulse() -> None:
    leading = found(("fifo", "leaf-lru"), "even-tokens")
    capacities = tuple(blocks for blocks, row in published().items() if row[1] == leading["leaf-lru", blocks])
    wanted = Wanted(rules=("optimal",), definitions=("even-tokens",), capacities=capacities, last=HALF)
    rows = simulate(ragpulse(), wanted).rows

    assert [row.hit_tokens for row in rows] == [published()[blocks][2] for blocks in capacities]


def sessions(part: int) -> Trace:
    return opened(f"claude_code_weka/sessions_{part}.jsonl.gz")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_claude_code_sessions_at_three_capacities() -> None:
    capacities = (30_000, 120_000, 500_000)
    rows = simulate(sessions(0), Wanted(rules=("leaf-lru",), capacities=capacities)).rows

    assert [row.hit_tokens for row in rows] == [460_182_592, 791_033_152, 821_788_160]


def spread_by_hand(part: int) -> list[float]:
    """Hit rates of the sessions with nothing ever evicted, straight from the file."""
    rates = []
    with gzip.open(Path(TRACES) / f"claude_code_weka/sessions_{part}.jsonl.gz") as file:
        for line in file:
            seen: set[int] = set()
            hits = tokens = 0
            for _, request in sorted(flat(json.loads(line)["requests"], 0.0), key=lambda pair: pair[0]):
                ids = request["hash_ids"]
                hits += 64 * next((n for n, block in enumerate(ids) if block not in seen), len(ids))
                tokens += request["in"]
                seen.update(ids)
            rates.append(hits / tokens)
    return sorted(rates)


def flat(requests: list[dict[str, Any]], start: float) -> Iterator[tuple[float, dict[str, Any]]]:
    for request in requests:
        if "requests" in request:
            yield from flat(request["requests"], start + request["t"])
        else:
            yield start + request["t"], request


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("part", "lowest", "low", "middle", "high", "highest", "average"),
    [(0, 72.2, 91.4, 95.5, 97.4, 98.9, 92.9), (1, 66.1, 91.3, 94.9, 96.8, 99.2, 91.9)],
)
def test_hit_rates_of_single_claude_code_sessions(
    part: int, lowest: float, low: float, middle: float, high: float, highest: float, average: float
) -> None:
    """kv-cache-tester's README has 61, 92, 96, 97, 100 and 93 % for its 739 sessions; these are parts of them."""
    by_hand = spread_by_hand(part)
    found = simulate(sessions(part), Wanted(rules=("leaf-lru",))).rows[0].by_session

    assert found is not None
    assert (found.sessions, found.min, found.max) == (len(by_hand), by_hand[0], by_hand[-1])
    assert (found.median, found.mean) == (pytest.approx(median(by_hand)), pytest.approx(mean(by_hand)))
    percents = [round(100 * rate, 1) for rate in (found.min, found.p25, found.median, found.p75, found.max, found.mean)]
    assert percents == [lowest, low, middle, high, highest, average]
