"""A plan made of replays: what it is measured by, and what it costs."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from made_traces import Chats

from hitrate.core.kv_memory import kv_memory
from hitrate.core.money import Price
from hitrate.core.simulation_results import Choice, Goal, SimulateResult
from hitrate.core.trace import UNKNOWN, Chunk
from hitrate.errors import UsageError
from hitrate.sim.timing.engine_timing import EngineTiming
from hitrate.simulating import Wanted, simulate
from hitrate.simulating.scale_out import Scale

TIMING = EngineTiming(step_s=0.01, prefill_token_s=0.001, max_running_requests=8, max_batched_tokens=256)
FLEETS: dict[str, Any] = {"capacities": (60, 240), "replicas": (2, 4), "policies": ("round-robin", "session-affinity")}


class WithoutSessions(Chats):
    def chunks(self) -> Any:
        for chunk in super().chunks():
            yield Chunk(*chunk)._replace(sessions=type(chunk.sessions)("q", [UNKNOWN] * len(chunk.sessions)))


def choices(result: SimulateResult) -> tuple[Choice, ...]:
    assert result.plan is not None
    return result.plan.choices


def test_bounds_of_each_choice_are_replays_of_their_own() -> None:
    result = simulate(Chats(), Wanted(**FLEETS))
    for choice in choices(result):
        row = result.rows[choice.row]
        rates = {bound.name: bound.hit_rate for bound in choice.bounds}
        single = {
            capacity: simulate(Chats(), Wanted(capacities=(capacity,))).rows[0].hit_rate
            for capacity in (None, row.replicas * (row.capacity_blocks or 0))
        }

        assert [*rates] == [
            "one cache without a limit",
            "one cache of the size of all",
            "session-affinity",
            "the fleet",
        ]
        assert (rates["one cache without a limit"], rates["one cache of the size of all"]) == tuple(single.values())
        assert rates["the fleet"] == row.hit_rate
        share = (rates["session-affinity"] or 0) / (rates["one cache without a limit"] or 1)
        assert choice.affinity_share == pytest.approx(share)
        assert choice.affinity.startswith("session affinity alone gets ")
        assert choice.affinity.endswith(" possible; 43 of 300 requests are of no session and go anywhere")


def test_rows_say_what_the_plan_says_of_them() -> None:
    result = simulate(Chats(), Wanted(**FLEETS))
    assert result.plan is not None

    marked = {place: row.plan for place, row in enumerate(result.rows) if row.plan}
    assert {place for place, mark in marked.items() if mark == "chosen"} == {one.row for one in choices(result)}
    assert set(marked) == {*result.plan.front, *(one.row for one in choices(result))}


def test_without_sessions_their_affinity_is_not_stated() -> None:
    (choice,) = choices(simulate(WithoutSessions(), Wanted(replicas=(2,), capacities=(60,), policies=("random",))))

    assert choice.affinity_share is None
    assert choice.affinity.startswith("what session affinity gets cannot be stated, as the trace names no sessions; a ")
    assert [bound.name for bound in choice.bounds][2] == "first-blocks:blocks=64"  # of 16 tokens


def test_single_caches_are_planned_only_where_they_cost_something() -> None:
    caches: dict[str, Any] = {"capacities": (60, 240)}
    price = Price(input_usd_per_mtok=1.0, cached_usd_per_mtok=0.1, output_usd_per_mtok=2.0)

    assert simulate(Chats(), Wanted(**caches)).plan is None
    assert simulate(Chats(), Wanted(**FLEETS, plan=False)).plan is None
    assert [choice.row for choice in choices(simulate(Chats(), Wanted(**caches, price=price)))] == [1]
    (choice,) = choices(simulate(Chats(), Wanted(**caches, usd_per_gpu_hour=2.0)))
    assert (choice.affinity, choice.affinity_share, choice.no_configuration) == ("", None, None)


def test_rules_that_no_engine_has_are_beside_the_plan() -> None:
    wanted = Wanted(rules=("optimal", "block-lru", "leaf-lru"), capacities=(60,), usd_per_gpu_hour=1.0)
    result = simulate(Chats(), wanted)

    assert [(row.rule_set, row.plan) for row in result.rows] == [
        ("optimal", None),
        ("block-lru", None),
        ("leaf-lru", "chosen"),
    ]


def test_the_bill_of_a_vendor_is_of_the_whole_trace() -> None:
    price = Price(input_usd_per_mtok=1.0, cached_usd_per_mtok=0.1, output_usd_per_mtok=2.0, source="contract")
    row, other = simulate(Chats(), Wanted(rules=("leaf-lru", "block-lru"), price=price)).rows
    tokens = [(sum(chunk.input_tokens), sum(chunk.output_tokens)) for chunk in Chats().chunks()]
    prompt, output = (sum(column) for column in zip(*tokens, strict=True))

    without = (prompt + 2 * output) / 1e6
    assert row.hosted_usd_without_caching == pytest.approx(without)
    assert row.hosted_usd == pytest.approx(without - 0.9 * (row.hit_tokens or 0) / 1e6)
    assert (other.hosted_usd, other.hosted_usd_without_caching) == (None, None)


def test_money_is_noted_with_what_was_assumed() -> None:
    price = Price(
        input_usd_per_mtok=3, cached_usd_per_mtok=0.3, output_usd_per_mtok=15, written_usd_per_mtok=3.75, source="list"
    )
    result = simulate(Chats(), Wanted(price=price, usd_per_gpu_hour=2.5, gpus_per_replica=2))
    unpriced = simulate(Chats(times=False), Wanted(price=Price(input_usd_per_mtok=3), usd_per_gpu_hour=2.5))

    assert result.notes[-3:] == (
        "billed in dollars per million tokens at input 3, cached 0.3, output 15, written 3.75, from list",
        "what is not served is billed as written, as if every prompt were marked to its end",
        "GPUs at $2.5 an hour, 2 GPUs a replica, are paid for from the first request to the last",
    )
    assert unpriced.notes[-2:] == (
        "no bill: no price of cached tokens",
        "the trace has no times, so it is not known for how long GPUs are needed",
    )
    assert unpriced.rows[0].provisioned_usd is None


def test_gpus_are_paid_for_from_the_first_request_to_the_last() -> None:
    wanted = Wanted(replicas=(4,), usd_per_gpu_hour=2.0, gpus_per_replica=2)
    (row,) = simulate(Chats(), wanted).rows

    assert row.gpu_seconds_provisioned == 4 * 2 * (299 / 4)
    assert row.provisioned_usd == pytest.approx(4 * 2 * (299 / 4) / 3600 * 2)
    assert row.provisioned_usd_per_mtok == pytest.approx((row.provisioned_usd or 0) / row.prompt_tokens * 1e6)


def test_virtual_time_gives_a_single_replica_times_too() -> None:
    (slow,) = simulate(Chats(), Wanted(timing=TIMING, timing_name="made")).rows
    (fast,) = simulate(Chats(), Wanted(timing=TIMING, arrival_rate=0.01)).rows

    assert None not in (slow.ttft_mean_s, slow.ttft_p50_s, slow.ttft_p90_s, slow.ttft_p99_s, slow.queue_p99_s)
    assert (slow.ttft_p50_s or 0) <= (slow.ttft_p90_s or 0) <= (slow.ttft_p99_s or 0)
    assert (fast.ttft_p99_s or 0) < (slow.ttft_p99_s or 0)
    assert 0 < (slow.gpu_seconds_busy or 0) <= (slow.gpu_seconds_provisioned or 0)
    assert (slow.replicas, slow.imbalance) == (1, None)


class WithoutLengths(Chats):
    def chunks(self) -> Iterator[Chunk]:
        for chunk in super().chunks():
            outputs = array("q", (UNKNOWN if number % 3 else 5 for number in range(len(chunk.output_tokens))))
            yield chunk._replace(output_tokens=outputs)


def test_what_is_assumed_of_replies_of_unknown_length_is_said() -> None:
    timed = simulate(WithoutLengths(30), Wanted(timing=TIMING))

    assert timed.warnings == (
        "20 of 30 requests do not say how long their reply is: one token is assumed, so decoding takes less of the "
        "engines here than it will, and times are too short",
    )
    assert simulate(WithoutLengths(30), Wanted()).warnings == ()
    assert simulate(Chats(30), Wanted(timing=TIMING)).warnings == ()


def test_a_goal_decides_how_many_replicas() -> None:
    def chosen(seconds: float) -> list[int]:
        goal = Goal(statistic="p99", seconds=seconds)
        wanted = Wanted(replicas=(1, 2, 4, 8), policies=("session-affinity",), timing=TIMING, goal=goal, arrival_rate=4)
        result = simulate(Chats(), wanted)
        return [result.rows[choice.row].replicas for choice in choices(result)]

    assert [chosen(seconds) for seconds in (100.0, 10.0, 1.0, 0.0001)] == [[1], [4], [8], []]


def test_memory_bounds_who_runs_at_once() -> None:
    """A replica's cache is its engine's KV memory, whatever the timing says of another machine."""
    small, large = simulate(Chats(), Wanted(capacities=(60, 6000), timing=TIMING, arrival_rate=4)).rows

    assert (small.queue_p99_s or 0) > (large.queue_p99_s or 0)


def test_shared_out_over_processes_nothing_changes() -> None:
    wanted = Wanted(
        capacities=(60, 240),
        replicas=(1, 2),
        policies=("random", "dynamo-kv"),
        timing=TIMING,
        price=Price(input_usd_per_mtok=1.0, cached_usd_per_mtok=0.1, output_usd_per_mtok=2.0),
    )

    shared = simulate(Chats(), wanted, Scale(workers=2))
    assert msgspec.json.encode(shared) == msgspec.json.encode(simulate(Chats(), wanted))


MEMORY = kv_memory(
    {"num_hidden_layers": 1, "num_attention_heads": 1, "hidden_size": 1 << 26, "torch_dtype": "bfloat16"}
)
"""A quarter of a GiB a token."""


def test_behind_a_store_of_all_it_does_not_matter_who_serves() -> None:
    wanted = Wanted(
        capacities=(60,), replicas=(4,), policies=("random",), stores_gib=(None, 10.0, math.inf), memory=MEMORY
    )
    rows = simulate(Chats(), wanted).rows
    (most,) = simulate(Chats(), Wanted()).rows
    (shared,) = simulate(Chats(), Wanted(capacities=(2,))).rows

    assert [(row.store, row.store_blocks, row.store_gib) for row in rows] == [
        (None, None, None),
        ("limited", 2, 8.0),
        ("unlimited", None, None),
    ]
    assert rows[2].hit_tokens == most.hit_tokens
    assert (rows[0].hit_tokens or 0) < (rows[2].hit_tokens or 0)
    assert max(rows[0].hit_tokens or 0, shared.hit_tokens or 0) <= (rows[1].hit_tokens or 0)
    assert [row.transferred_tokens is None for row in rows] == [True, False, False]


def test_with_and_without_a_store_are_planned_apart() -> None:
    result = simulate(Chats(), Wanted(replicas=(2, 4), capacities=(60,), stores_gib=(None, math.inf)))
    assert result.plan is not None

    assert result.plan.rule.endswith(", for each number of replicas and store")
    assert [(result.rows[one.row].replicas, result.rows[one.row].store) for one in choices(result)] == [
        (2, None),
        (2, "unlimited"),
        (4, None),
        (4, "unlimited"),
    ]


def test_transfers_from_a_store_take_their_time() -> None:
    def p50(speed: float | None) -> float:
        store: dict[str, Any] = {"stores_gib": (math.inf,), "store_bytes_per_s": speed, "memory": MEMORY}
        (row,) = simulate(Chats(), Wanted(capacities=(60,), timing=TIMING, arrival_rate=0.01, **store)).rows
        return row.ttft_p50_s or 0.0

    at_once, slowly = p50(None), p50(256 * 1024**2 * 1000)  # a thousand tokens a second
    assert slowly > at_once


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Wanted(stores_gib=(8.0,)), "--store-gib needs --model-config"),
        (Wanted(stores_gib=(math.inf,), store_bytes_per_s=1e9), "--store-gbps needs --model-config"),
        (Wanted(stores_gib=(math.inf,), rules=("block-lru",)), "a store can be replayed with rules of engines"),
    ],
)
def test_what_a_store_needs(wanted: Wanted, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        simulate(Chats(), wanted)


def test_a_goal_needs_an_engine() -> None:
    with pytest.raises(UsageError, match="--slo-ttft is a goal for times: name the engine they are of with --timing"):
        simulate(Chats(), Wanted(goal=Goal(statistic="p99", seconds=1.0)))
