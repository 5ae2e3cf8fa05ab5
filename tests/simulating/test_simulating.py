"""A trace replayed through the one way that commands take: rows, curve, definitions, and what is refused."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator

import pytest

from hitrate.core.kv_memory import kv_memory
from hitrate.core.records import Records
from hitrate.core.simulation_results import SessionSpread
from hitrate.core.trace import Chunk, Replayable
from hitrate.errors import UsageError
from hitrate.simulating import Last, Wanted, simulate

MEMORY = kv_memory(
    {"num_hidden_layers": 1, "num_attention_heads": 1, "hidden_size": 1 << 26, "torch_dtype": "bfloat16"}
)
"""A quarter of a GiB a token."""

PROMPTS = ([0, 1, 2], [0, 1, 3], [4], [0, 1, 2])
LENGTHS = (11, 12, 4, 11)


class Made:
    """Blocks of 4 tokens, two requests a chunk."""

    def __init__(self, *, ordered: bool = True, partial: bool = True, times: bool = True) -> None:
        self.facts = Replayable(
            path="trace", format="made", block_tokens=4, has_partial_blocks=partial, ordered=ordered
        )
        self._times = times

    def chunks(self) -> Iterator[Chunk]:
        for first in (0, 2):
            ids, starts = array("q"), array("q", [0])
            for prompt in PROMPTS[first : first + 2]:
                ids.extend(prompt)
                starts.append(len(ids))
            at_s = array("d", [100.0 * (first + n) if self._times else math.nan for n in (0, 1)])
            outputs = array("q", [1, 1])
            yield Chunk(at_s, array("q", LENGTHS[first : first + 2]), outputs, array("q", [0, first]), starts, ids)

    def records(self) -> Records:
        return Records(read=4, used=4)


def rates(wanted: Wanted, trace: Made | None = None) -> list[tuple[str, int | None, float | None, int | None]]:
    result = simulate(trace or Made(), wanted)
    return [(row.rule_set, row.capacity_blocks, row.hit_rate, row.hit_tokens) for row in result.rows]


def test_every_rule_with_every_capacity() -> None:
    wanted = Wanted(rules=("vllm", "leaf-lru", "fifo", "optimal"), capacities=(4, None))

    assert rates(wanted) == [
        ("vllm", 4, 16 / 38, 16),
        ("vllm", None, 16 / 38, 16),
        ("leaf-lru", 4, 16 / 38, 16),
        ("leaf-lru", None, 19 / 38, 19),
        ("fifo", 4, 8 / 38, 8),
        ("fifo", None, 19 / 38, 19),
        ("optimal", 4, 19 / 38, 19),
        ("optimal", None, 19 / 38, 19),
    ]


def test_a_single_row_stands_at_the_top_too() -> None:
    result = simulate(Made(), Wanted(rules=("leaf-lru",), capacities=(4,), seed=3))
    several = simulate(Made(), Wanted(capacities=(4, 5)))

    assert (result.prompt_tokens, result.hit_tokens, result.hit_rate) == (38, 16, 16 / 38)
    assert (result.definition, result.rule_set, result.capacity_blocks) == ("tokens", "leaf-lru", 4)
    assert (result.replicas, result.policy, result.seed) == (1, None, 3)
    assert (several.hit_tokens, several.definition, several.capacity_blocks) == (None, None, None)
    assert (result.trace_requests, result.trace_blocks, result.trace_distinct_blocks) == (4, 10, 5)


@pytest.mark.parametrize(
    ("definition", "hits", "counted"),
    [
        ("tokens", 19.0, 38.0),
        ("vllm", 16.0, 38.0),
        ("blocks", 5.0, 10.0),
        ("full-blocks", 5.0, 8.0),
        ("request-mean", 5 / 3, 4.0),
    ],
)
def test_one_replay_has_several_hit_rates(definition: str, hits: float, counted: float) -> None:
    row = simulate(Made(), Wanted(rules=("leaf-lru",), definitions=(definition,))).rows[0]

    assert (row.hits, row.counted) == (pytest.approx(hits), counted)
    assert (row.definition, row.prompt_tokens) == (definition, 38)
    assert row.hit_tokens == (hits if row.unit == "tokens" else None)


def test_blocks_one_by_one_are_counted_wherever_they_stand() -> None:
    assert rates(Wanted(rules=("block-lru", "block-lfu"), capacities=(None,))) == [
        ("block-lru", None, 0.5, None),
        ("block-lfu", None, 0.5, None),
    ]


def test_the_last_requests_alone() -> None:
    half = simulate(Made(), Wanted(rules=("leaf-lru",), last=Last(share=0.5))).rows[0]
    one = simulate(Made(), Wanted(rules=("leaf-lru",), last=Last(requests=1))).rows[0]

    assert (half.hit_tokens, half.prompt_tokens, half.requests) == (11, 15, 2)
    assert (half.definition, half.definition_text) == (
        "tokens, last 50 %",
        "tokens served / input tokens, of the last 50 %",
    )
    assert (one.hit_tokens, one.prompt_tokens, one.definition) == (11, 11, "tokens, last 1 request")


def test_the_curve_and_its_knees() -> None:
    result = simulate(Made(), Wanted(curve=True, memory=MEMORY))

    assert result.rows == ()
    assert result.curve is not None
    found = [(point.capacity_blocks, point.hit_tokens, point.capacity_gib) for point in result.curve.points]
    assert found == [(1, 4, 1.0), (2, 12, 2.0), (3, 16, 3.0), (4, 16, 4.0), (5, 19, 5.0)]
    assert [point.capacity_blocks for point in result.curve.knees] == [2, 5, 5]
    assert result.curve.points[-1].share_of_most == 1.0


def test_gib_become_blocks_and_blocks_gib() -> None:
    rows = simulate(Made(), Wanted(gib=(4.9,), capacities=(8,), memory=MEMORY)).rows

    assert [(row.capacity_blocks, row.capacity_tokens, row.capacity_gib) for row in rows] == [
        (8, 32, 8.0),
        (4, 16, 4.0),
    ]


def test_a_lifetime() -> None:
    assert rates(Wanted(rules=("leaf-lru", "vllm"), ttls_s=(150.0, None))) == [
        ("leaf-lru", None, 8 / 38, 8),
        ("leaf-lru", None, 0.5, 19),
        ("vllm", None, 8 / 38, 8),
        ("vllm", None, 16 / 38, 16),
    ]


def test_larger_blocks() -> None:
    result = simulate(Made(), Wanted(rules=("leaf-lru",), block_size=8))

    assert (result.block_size, result.rows[0].hit_tokens) == (8, 19)
    assert result.notes == ("blocks of 4 tokens regrouped to 8",)


def test_a_vendors_rule_set_has_its_minimum_and_its_step() -> None:
    small = simulate(Made(), Wanted(rules=("openai-chat-before-gpt-5.6",), block_size=128))
    page = simulate(Made(), Wanted(rules=("sglang-2026-11",)))

    assert (small.rows[0].hit_tokens, small.rows[0].rule_set) == (
        0,
        "openai-chat-before-gpt-5.6 (as of 2026-11, block 128, at least 1,024 tokens)",
    )
    assert page.rows[0].hit_tokens == 19
    assert any("steps of 1 tokens, the trace is known in blocks of 4" in note for note in page.notes)


def test_how_far_apart_sessions_lie() -> None:
    row = simulate(Made(), Wanted(rules=("leaf-lru",))).rows[0]

    assert row.by_session == SessionSpread(
        sessions=2, min=8 / 27, p25=pytest.approx(0.4722, abs=1e-4), median=pytest.approx(0.6481, abs=1e-4),
        p75=pytest.approx(0.8241, abs=1e-4), max=1.0, mean=pytest.approx(0.6481, abs=1e-4),
    )  # fmt: skip


def test_prompts_too_long_for_the_cache_are_counted() -> None:
    assert simulate(Made(), Wanted(capacities=(2,))).rows[0].never_fit == 3


def test_parts_that_stand_for_themselves_are_chained_for_leading_blocks() -> None:
    def opened() -> Made:
        return Made(ordered=False)

    row = simulate(opened(), Wanted(rules=("leaf-lru",))).rows[0]

    assert (row.definition, row.hit_tokens, row.counted) == ("even-tokens", 20, 40)
    assert simulate(opened(), Wanted(rules=("block-lru",))).rows[0].definition == "any-block-tokens"


@pytest.mark.parametrize(
    ("policy", "hit_tokens", "imbalance"),
    [
        (None, 8, 1.0),  # in turn: the second one holds [0, 1, 3] when [0, 1, 2] comes
        ("cache-aware", 19, 15 / 9.5),  # all but [4] to the first one
    ],
)
def test_a_fleet(policy: str | None, hit_tokens: int, imbalance: float) -> None:
    result = simulate(Made(), Wanted(rules=("leaf-lru",), replicas=(2,), policies=(policy,) if policy else ()))

    row = result.rows[0]
    assert (row.replicas, row.policy, result.policy) == (2, policy or "round-robin", policy or "round-robin")
    assert (row.hit_tokens, row.imbalance) == (hit_tokens, pytest.approx(imbalance))
    assert result.notes == ("capacities are of one replica, each of the 2 has as much",)


def test_a_policy_that_weighs_loads_is_said_to_see_none() -> None:
    notes = simulate(Made(), Wanted(replicas=(2,), policies=("dynamo-kv",))).notes

    assert notes[-1] == (
        "policy dynamo-kv weighs requests in flight; here they come one after another, and every replica looks idle"
    )


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Wanted(replicas=(2,), curve=True), "--curve is of one cache: leave out --replicas"),
        (
            Wanted(replicas=(2,), rules=("optimal",)),
            "rule optimal is of one cache by itself; several replicas can be replayed with rules of engines",
        ),
        (Wanted(policies=("nearest",)), "routing policy 'nearest' is not known; use one of"),
        (Wanted(rules=("lru",)), "no rule is called 'lru'; known: vllm, leaf-lru, leaf-lru-in-turn, fifo"),
        (
            Wanted(rules=("anthropic-2026-11",)),
            "cannot be replayed from a trace of blocks: it caches where requests ca",
        ),
        (Wanted(definitions=("bytes",)), "no definition is called 'bytes'; known: tokens, vllm, blocks"),
        (Wanted(definitions=("any-block",)), "counts blocks behind a miss, which rule vllm never serves"),
        (Wanted(rules=("block-lru",), definitions=("tokens",)), "counts leading blocks, rule block-lru any"),
        (Wanted(block_size=6), "is known in blocks of 4 tokens: --block-size 6 is no multiple"),
        (Wanted(rules=("fifo",), ttls_s=(5.0,)), "--ttl: rule fifo has no lifetime"),
        (Wanted(replicas=(1, 20_000)), "20,000 replicas are more than the 10,000 that are replayed at most"),
        (Wanted(capacities=tuple(range(1, 10_002))), "more than 10,000 rows are asked for, every rule with every"),
        (Wanted(capacities=(10**12 + 1,)), "a cache of 1,000,000,000,001 blocks is more than the 1,000,000,000,000"),
        (Wanted(gib=(1e-9,), memory=MEMORY), "--gib 1e-09 holds no block: one of 4 tokens takes 1 GiB"),
        (Wanted(gib=(1e30,), memory=MEMORY), "blocks is more than the 1,000,000,000,000 that are replayed"),
        (Wanted(stores_gib=(1e-9,), memory=MEMORY), "--store-gib 1e-09 holds no block: one of 4 tokens takes 1 GiB"),
        (Wanted(stores_gib=(math.inf,), rules=("block-lru",)), "rule block-lru is of one cache by itself; a store can"),
        (Wanted(gib=(1.0,)), "--gib needs --model-config"),
        (Wanted(curve=True, definitions=("any-block",)), "--curve is over leading blocks; definitions: tokens, vllm"),
        (Wanted(curve=True, definitions=("tokens", "vllm")), "--curve counts by one definition"),
        (Wanted(rules=("vllm-2026-11",)), "credits in steps of 16 tokens, the blocks of trace have 4: ask for --block"),
    ],
)
def test_what_is_refused(wanted: Wanted, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        simulate(Made(), wanted)

    assert said in refused.value.message


@pytest.mark.parametrize("rules", [("vllm", "leaf-lru", "optimal"), ("fifo", "block-lfu-in-turn")])
def test_a_rule_that_cannot_stand_behind_a_router_is_refused_before_the_trace_is_read(rules: tuple[str, ...]) -> None:
    class Unread(Made):
        def chunks(self) -> Iterator[Chunk]:
            raise AssertionError("read")

    with pytest.raises(UsageError, match=f"rule {rules[-1]} is of one cache by itself; several replicas can be"):
        simulate(Unread(), Wanted(rules=rules, capacities=(10, 1000), replicas=(1, 3)))


@pytest.mark.parametrize(
    ("last", "of", "said"),
    [
        (Last(requests=999), 4, "last 4 requests"),
        (Last(requests=3), 4, "last 3 requests"),
        (Last(requests=9), 1, "last 1 request"),
        (Last(share=0.5), 4, "last 50 %"),
    ],
)
def test_the_last_are_no_more_than_there_are(last: Last, of: int, said: str) -> None:
    assert str(last.of(of)) == said


def test_a_row_counts_the_last_that_there_are() -> None:
    assert simulate(Made(), Wanted(last=Last(requests=999))).rows[0].definition == "tokens, last 4 requests"


def test_another_rate_needs_times() -> None:
    with pytest.raises(UsageError, match="--rate needs the time of every request, which this trace does not have"):
        simulate(Made(times=False), Wanted(arrival_rate=2.0))


def test_a_lifetime_without_times_and_full_blocks_without_any() -> None:
    with pytest.raises(UsageError, match="--ttl needs the time of every request"):
        simulate(Made(times=False), Wanted(ttls_s=(5.0,)))
    with pytest.raises(UsageError, match="rule vllm caches full blocks of one size, which made traces do not have"):
        simulate(Made(ordered=False), Wanted())
    with pytest.raises(UsageError, match="definition tokens counts blocks of one size"):
        simulate(Made(ordered=False), Wanted(rules=("fifo",), definitions=("tokens",)))
