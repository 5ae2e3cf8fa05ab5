"""A small plan, with what formats have to get right: a goal, money, times, configurations and a warning."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from hitrate.core.findings import RecordSums
from hitrate.core.simulation_results import (
    Bound,
    Configuration,
    Goal,
    SimulatedPoint,
    SimulateResult,
)
from hitrate.sim.plan import make_plan

BLOCK = 512


def row(replicas: int, blocks: int, policy: str | None, hit_rate: float, p50: float, **more: Any) -> SimulatedPoint:
    return SimulatedPoint(
        prompt_tokens=1_000_000,
        hit_tokens=round(1_000_000 * hit_rate),
        hit_rate=hit_rate,
        definition="tokens",
        rule_set="vllm",
        capacity_blocks=blocks,
        replicas=replicas,
        policy=policy,
        seed=0,
        block_size=BLOCK,
        capacity_tokens=BLOCK * blocks,
        capacity_gib=blocks / 16,
        ttl_s=None,
        requests=1000,
        unit="tokens",
        hits=1_000_000 * hit_rate,
        counted=1_000_000.0,
        definition_text="tokens served / input tokens",
        ttft_mean_s=1.5 * p50,
        ttft_p50_s=p50,
        ttft_p90_s=3 * p50,
        ttft_p99_s=8 * p50,
        queue_p99_s=4 * p50,
        gpu_seconds_busy=1800.0 * replicas * (1 - hit_rate),
        gpu_seconds_provisioned=1800.0 * replicas,
        provisioned_usd=1.25 * replicas,
        provisioned_usd_per_mtok=1.25 * replicas,
        **more,
    )


ROWS = (
    row(1, 1024, None, 0.1, 2.0),
    row(2, 1024, "round-robin", 0.15, 1.0, imbalance=1.02),
    row(2, 1024, "session-affinity", 0.30, 0.75, imbalance=1.1),
    row(4, 1024, "round-robin", 0.14, 0.5, imbalance=1.04),
    row(4, 1024, "session-affinity", 0.35, 0.25, imbalance=1.6),
    row(4, 2048, "session-affinity", 0.36, 0.24, imbalance=1.6),
)

ROUTER = Configuration(
    software="vllm-router",
    version="0.1.17",
    source="https://pypi.org/project/vllm-router/",
    language="sh",
    text="python -m vllm_router.launch_router \\\n  --policy consistent_hash",
    note="every request has to carry the header x-session-id",
)


GOAL = Goal(statistic="p99", seconds=2.5)


def planned(goal: Goal | None = GOAL) -> SimulateResult:
    plan = make_plan(ROWS, range(len(ROWS)), goal)
    assert plan is not None
    choices = tuple(
        replace(
            choice,
            bounds=(
                Bound(name="one cache without a limit", hit_rate=0.4, replicas=1, policy=None, capacity_blocks=None),
            ),
            affinity="session affinity alone gets 35.0 % of the 40.0 % possible",
            affinity_share=0.875,
            configurations=(ROUTER,),
        )
        for choice in plan.choices
    )
    plan = replace(plan, choices=choices)
    chosen = {choice.row for choice in choices}
    marks = {place: "chosen" if place in chosen else "front" for place in (*plan.front, *chosen)}
    return SimulateResult(
        trace="trace.jsonl",
        format="mooncake",
        block_size=BLOCK,
        trace_requests=1000,
        trace_blocks=3000,
        trace_distinct_blocks=2000,
        timing="made",
        rows=tuple(replace(one, plan=marks.get(place)) for place, one in enumerate(ROWS)),
        plan=plan,
        records=RecordSums(read=1000, used=1000, damaged=0, repeated=0, skipped=(), remarks=()),
    )
