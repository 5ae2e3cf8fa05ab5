"""What came of points and curves, as rows that are printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from hitrate.core.money import Price, Unpriced
from hitrate.core.simulation_results import Curve, SimulatedPoint
from hitrate.core.trace import Replayable
from hitrate.errors import UsageError
from hitrate.sim.capacity.curve import LruCurve
from hitrate.sim.capacity.definitions import DEFINITIONS, Definition
from hitrate.sim.capacity.rules import block_rule
from hitrate.sim.timing.moments import FleetTiming
from hitrate.simulating.money import gpu_seconds, hosted_usd, provisioned_usd
from hitrate.simulating.replaying import Replayed, TraceSums
from hitrate.simulating.wanted import Point, Wanted, why_not

KNEES = (0.5, 0.9, 0.99)
_POINTS_A_DOUBLING = 4
_CURVE_RULE = "leaf-lru"


def row(point: Point, replayed: Replayed, sums: TraceSums, facts: Replayable, wanted: Wanted) -> SimulatedPoint:
    """GiB are told where a model was named."""
    definition = DEFINITIONS[point.definition]
    tokens = None if point.capacity is None else point.capacity * facts.block_tokens
    return SimulatedPoint(
        prompt_tokens=sums.prompt_tokens,
        hit_tokens=int(replayed.hits) if definition.unit == "tokens" else None,
        hit_rate=replayed.hits / replayed.counted if replayed.counted else None,
        definition=definition.name if wanted.last is None else f"{definition.name}, {wanted.last}",
        definition_text=definition.about if wanted.last is None else f"{definition.about}, of the {wanted.last}",
        rule_set=block_rule(point.rule).name,
        capacity_blocks=point.capacity,
        replicas=point.replicas,
        policy=point.policy,
        seed=point.seed,
        block_size=facts.block_tokens,
        capacity_tokens=tokens,
        capacity_gib=None if tokens is None or wanted.memory is None else wanted.memory.gib(tokens),
        ttl_s=point.ttl_s,
        requests=sums.counted_requests,
        unit=definition.unit,
        hits=replayed.hits,
        counted=replayed.counted,
        never_fit=replayed.never_fit,
        by_session=replayed.by_session,
        imbalance=replayed.imbalance,
        **_stored(point, replayed, facts, wanted),
        **_hosted(point, replayed, wanted.price),
        **_times(replayed.timing),
        **_provisioned(point, replayed.timing, sums, wanted),
    )


def _stored(point: Point, replayed: Replayed, facts: Replayable, wanted: Wanted) -> dict[str, Any]:
    if point.store is None:
        return {}
    blocks = point.store.blocks
    return {
        "store": "unlimited" if blocks is None else "limited",
        "store_blocks": blocks,
        "store_gib": None
        if blocks is None or wanted.memory is None
        else wanted.memory.gib(blocks * facts.block_tokens),
        "transferred_tokens": replayed.transferred_tokens,
    }


def _hosted(point: Point, replayed: Replayed, price: Price | None) -> dict[str, Any]:
    if price is None or not replayed.billed:
        return {}
    found = hosted_usd(replayed.billed, price, point.ttl_s)
    names = ("hosted_usd", "hosted_usd_without_caching")
    return {name: one for name, one in zip(names, found, strict=True) if not isinstance(one, Unpriced)}


def _times(timing: FleetTiming | None) -> dict[str, Any]:
    if timing is None:
        return {}
    ttft, queue = timing.ttft_s, timing.queue_s
    names = ("mean", "p50", "p90", "p99")
    return {
        **({} if ttft is None else {f"ttft_{name}_s": getattr(ttft, name) for name in names}),
        "queue_p99_s": None if queue is None else queue.p99,
    }


def _provisioned(point: Point, timing: FleetTiming | None, sums: TraceSums, wanted: Wanted) -> dict[str, Any]:
    if timing is None and wanted.usd_per_gpu_hour is None:
        return {}
    span_s = sums.span_s if timing is None else timing.span_s
    seconds = gpu_seconds(point.replicas, wanted.gpus_per_replica, span_s)
    usd = provisioned_usd(seconds, wanted.usd_per_gpu_hour)
    return {
        "gpu_seconds_busy": None if timing is None else wanted.gpus_per_replica * timing.busy_gpu_s,
        "gpu_seconds_provisioned": seconds,
        "provisioned_usd": usd,
        "provisioned_usd_per_mtok": None
        if usd is None or not sums.all_prompt_tokens
        else usd / sums.all_prompt_tokens * 1e6,
    }


def new_curve(facts: Replayable, wanted: Wanted, first: int) -> LruCurve | None:
    """To be filled; None where none was asked for. UsageError for a definition that it cannot be counted by."""
    return LruCurve(_curve_definition(facts, wanted), facts.block_tokens, first) if wanted.curve else None


def curve_rows(curve: LruCurve, sums: TraceSums, facts: Replayable, wanted: Wanted) -> Curve:
    """All capacities of leaf-first LRU at once."""
    most = curve.hits(None)
    definition = _curve_definition(facts, wanted)

    def made(capacities: Sequence[int]) -> tuple[SimulatedPoint, ...]:
        found = []
        for capacity, hits in zip(capacities, curve.points(capacities), strict=True):
            point = Point(rule=_CURVE_RULE, definition=definition.name, capacity=capacity, seed=wanted.seed)
            replayed = Replayed(hits=hits, counted=curve.whole, never_fit=None, by_session=None)
            one = row(point, replayed, sums, facts, wanted)
            found.append(replace(one, share_of_most=hits / most if most else None))
        return tuple(found)

    return Curve(
        definition=made([1])[0].definition,
        rule_set=_CURVE_RULE,
        points=made(_spread(curve.largest)),
        knees=made([curve.smallest(share) for share in KNEES]) if curve.largest else (),
    )


def _curve_definition(facts: Replayable, wanted: Wanted) -> Definition:
    names = wanted.definitions or ("tokens" if facts.ordered else "even-tokens",)
    if len(names) > 1:
        raise UsageError("--curve counts by one definition; name one")
    definition = DEFINITIONS.get(names[0])
    if definition is None or not definition.consecutive:
        known = ", ".join(name for name, one in DEFINITIONS.items() if one.consecutive)
        raise UsageError(f"--curve is over leading blocks; definitions: {known}")
    if why := why_not(facts, None, definition):
        raise UsageError(why)
    return definition


def _spread(largest: int) -> list[int]:
    """Capacities at even distances on a logarithmic scale, and the largest."""
    steps = range(_POINTS_A_DOUBLING * max(1, largest).bit_length())
    found = {round(2 ** (step / _POINTS_A_DOUBLING)) for step in steps} | {largest}
    return sorted(capacity for capacity in found if 0 < capacity <= largest)
