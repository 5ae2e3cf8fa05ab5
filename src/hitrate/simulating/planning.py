"""The plan of a result: what to deploy, measured by further replays, with the configuration of router and engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from hitrate.core.kv_memory import GIB
from hitrate.core.numerals import counted
from hitrate.core.simulation_results import Bound, Choice, Plan, SimulatedPoint
from hitrate.sim.capacity.rules import block_rule
from hitrate.sim.plan import make_plan
from hitrate.sim.policies.registry import settings_of
from hitrate.sim.timing.engine_timing import EngineTiming
from hitrate.simulating.replaying import Replayed
from hitrate.simulating.seen import SeenTrace
from hitrate.simulating.wanted import Point, Wanted
from hitrate.targets.routers import router_configurations, why_none
from hitrate.targets.routers.engines import engine_configurations
from hitrate.targets.routers.interface import Fleet, StepLimits

ReplayMore = Callable[[Sequence[Point]], Sequence[Replayed]]
"""Replays further points over the same trace."""

_WITHOUT_LIMIT = "one cache without a limit"
_AS_LARGE = "one cache of the size of all"
_THE_FLEET = "the fleet"
_BY_SESSION = "session-affinity"
_OPENING_TOKENS = 1024
"""Of a prompt, that stand for its session where the trace names none: in fewer many sessions begin alike."""


def is_planned(points: Sequence[Point], wanted: Wanted) -> bool:
    """Where there are fleets, money or times to weigh; of single caches the rows and the curve say it all."""
    asks = wanted.price or wanted.usd_per_gpu_hour is not None or wanted.timing
    return wanted.plan and bool(_plannable(points)) and bool(asks or any(point.replicas > 1 for point in points))


def planned(
    rows: Sequence[SimulatedPoint],
    points: Sequence[Point],
    replayed: Sequence[Replayed],
    wanted: Wanted,
    seen: SeenTrace,
    more: ReplayMore,
) -> tuple[tuple[SimulatedPoint, ...], Plan | None]:
    """The rows with what the plan says of them, and the plan. `seen` is the trace that was read for them."""
    plan = make_plan(rows, _plannable(points), wanted.goal, seen.conversations)
    if plan is None:
        return tuple(rows), None
    known = dict(zip(map(_cache_of, points), replayed, strict=True))
    block_tokens = rows[0].block_size
    bounds = [_bound_points(points[choice.row], seen, block_tokens) for choice in plan.choices]
    new = [point for point in dict.fromkeys(point for one in bounds for point in one.values()) if point not in known]
    known.update(zip(new, more(new) if new else (), strict=True))
    doubt = seen.doubt_of_times()
    choices = []
    for choice, beside in zip(plan.choices, bounds, strict=True):
        choice = choice if doubt is None or plan.goal is None else replace(choice, why=f"{choice.why}, {doubt.short}")
        measured = _measured(choice, {name: _bound(name, point, known[point]) for name, point in beside.items()}, seen)
        choices.append(_configured(measured, points[choice.row], rows[choice.row], wanted))
    marks = dict.fromkeys(plan.front, "front") | dict.fromkeys((choice.row for choice in choices), "chosen")
    marked = tuple(replace(row, plan=marks.get(place)) for place, row in enumerate(rows))
    warnings = plan.warnings if doubt is None else (doubt.warning, *plan.warnings)
    return marked, replace(plan, choices=tuple(choices), warnings=warnings)


def _plannable(points: Sequence[Point]) -> list[int]:
    """Places of those that an engine can be made to be, counted as the first of them is."""
    engines = [place for place, point in enumerate(points) if _is_an_engines(point.rule)]
    return [place for place in engines if points[place].definition == points[engines[0]].definition]


def _is_an_engines(name: str) -> bool:
    rule = block_rule(name)
    return rule.leading and not rule.whole_trace


def _cache_of(point: Point) -> Point:
    """Without what does not change the hits."""
    return replace(point, price_steps=None, policy=None if point.replicas == 1 else point.policy)


def _bound_points(point: Point, seen: SeenTrace, block_tokens: int) -> dict[str, Point]:
    """By what they are called. Single caches have no queue, so they need no virtual time."""
    point = _cache_of(point)
    single = replace(point, replicas=1, policy=None, timing=None, store=None)
    found = {_WITHOUT_LIMIT: replace(single, capacity=None, ttl_s=None)}
    if point.capacity is not None:
        found[_AS_LARGE] = replace(single, capacity=point.capacity * point.replicas)
    if point.replicas > 1:
        policy = _BY_SESSION if seen.of_no_session < seen.requests else _near_sessions(block_tokens)
        found[policy] = replace(point, policy=policy, store=None)
        found[_THE_FLEET] = point
    return found


def _near_sessions(block_tokens: int) -> str:
    blocks = max(1, _OPENING_TOKENS // block_tokens)
    return "first-blocks" if blocks == 2 else f"first-blocks:blocks={blocks}"


def _bound(name: str, point: Point, replayed: Replayed) -> Bound:
    return Bound(
        name=name,
        hit_rate=replayed.hits / replayed.counted if replayed.counted else None,
        replicas=point.replicas,
        policy=point.policy,
        capacity_blocks=point.capacity,
    )


def _measured(choice: Choice, bounds: Mapping[str, Bound], seen: SeenTrace) -> Choice:
    text, share = _affinity(bounds, seen)
    return replace(choice, bounds=tuple(bounds.values()), affinity=text, affinity_share=share)


def _affinity(bounds: Mapping[str, Bound], seen: SeenTrace) -> tuple[str, float | None]:
    """In words, and as a share of what is possible."""
    most = bounds[_WITHOUT_LIMIT].hit_rate
    if _BY_SESSION in bounds:
        rate = bounds[_BY_SESSION].hit_rate
        if rate is None or not most:
            return "nothing is repeated in this trace: session affinity has nothing to get", None
        some = f"; {seen.of_no_session:,} of {counted(seen.requests, 'request')} are of no session and go anywhere"
        said = f"session affinity alone gets {_percent(rate)} of the {_percent(most)} possible"
        return said + (some if seen.of_no_session else ""), rate / most
    near = next((bound for name, bound in bounds.items() if name.startswith("first-blocks")), None)
    if near is not None:
        what = f"a hash of the first {_OPENING_TOKENS:,} tokens"
        gets = f"; {what} gets {_percent(near.hit_rate or 0.0)} of the {_percent(most)} possible" if most else ""
        return f"what session affinity gets cannot be stated, as the trace names no sessions{gets}", None
    return "", None


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f} %"


def _configured(choice: Choice, point: Point, row: SimulatedPoint, wanted: Wanted) -> Choice:
    """One replica needs no router."""
    routed = point.replicas > 1 and point.policy is not None
    policy, settings = settings_of(point.policy) if routed and point.policy else ("", {})
    fleet = _fleet(point, row, wanted, policy, settings)
    routers = router_configurations(fleet) if routed else ()
    return replace(
        choice,
        configurations=(*routers, *engine_configurations(fleet, point.rule)),
        no_configuration=why_none(fleet) if routed and not routers else None,
    )


def _fleet(point: Point, row: SimulatedPoint, wanted: Wanted, policy: str, settings: Mapping[str, Any]) -> Fleet:
    return Fleet(
        replicas=point.replicas,
        policy=policy,
        written=point.policy or "",
        settings=settings,
        block_tokens=row.block_size,
        capacity_tokens=row.capacity_tokens,
        capacity_bytes=None if row.capacity_gib is None else round(row.capacity_gib * GIB),
        gpus_per_replica=wanted.gpus_per_replica,
        steps=None if wanted.timing is None else _steps(wanted.timing),
    )


def _steps(timing: EngineTiming) -> StepLimits:
    return StepLimits(**{name: getattr(timing, name) for name in StepLimits.__struct_fields__})
