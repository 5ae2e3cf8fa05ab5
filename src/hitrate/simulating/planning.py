"""The plan of a result: what to deploy, measured by further replays, with the configuration of router and engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from hitrate.core.kv_memory import GIB
from hitrate.core.simulation_results import Bound, Choice, Configuration, Plan, SimulatedPoint
from hitrate.core.trace import Replayable
from hitrate.sim.capacity.rules import block_rule
from hitrate.sim.plan import make_plan
from hitrate.sim.policies.registry import settings_of
from hitrate.simulating.replaying import Replayed
from hitrate.simulating.wanted import Point, Wanted
from hitrate.targets.routers import router_configurations, why_none
from hitrate.targets.routers.engines import engine_configurations
from hitrate.targets.routers.interface import Fleet

ReplayMore = Callable[[Sequence[Point]], Sequence[Replayed]]
"""Replays further points over the same trace."""

_BY_SESSION = "session-affinity"
_NEAR_SESSIONS = "first-blocks"


def plannable(points: Sequence[Point]) -> list[int]:
    """Places of those that an engine can be made to be, counted as the first of them is."""
    engines = [place for place, point in enumerate(points) if _is_an_engines(point.rule)]
    return [place for place in engines if points[place].definition == points[engines[0]].definition]


def _is_an_engines(name: str) -> bool:
    rule = block_rule(name)
    return rule.leading and not rule.whole_trace


def is_planned(points: Sequence[Point], wanted: Wanted) -> bool:
    """Where there are fleets, money or times to weigh; of single caches the rows and the curve say it all."""
    asks = wanted.price or wanted.usd_per_gpu_hour is not None or wanted.timing
    return wanted.plan and bool(plannable(points)) and bool(asks or any(point.replicas > 1 for point in points))


def planned(
    rows: Sequence[SimulatedPoint],
    points: Sequence[Point],
    replayed: Sequence[Replayed],
    facts: Replayable,
    wanted: Wanted,
    more: ReplayMore,
) -> tuple[tuple[SimulatedPoint, ...], Plan | None]:
    """The rows with what the plan says of them, and the plan."""
    plan = make_plan(rows, plannable(points), wanted.goal)
    if plan is None:
        return tuple(rows), None
    known = dict(zip(map(_cache_of, points), replayed, strict=True))
    asked = [point for choice in plan.choices for point in _bound_points(points[choice.row], known).values()]
    new = [point for point in dict.fromkeys(asked) if point not in known]
    known.update(zip(new, more(new) if new else (), strict=True))
    choices = tuple(
        _measured(choice, points[choice.row], rows[choice.row], known, facts, wanted) for choice in plan.choices
    )
    plan = replace(plan, choices=choices)
    chosen = {choice.row for choice in choices}
    marks = dict.fromkeys(plan.front, "front") | dict.fromkeys(chosen, "chosen")
    return tuple(replace(row, plan=marks.get(place)) for place, row in enumerate(rows)), plan


def _cache_of(point: Point) -> Point:
    """Without what does not change the hits."""
    return replace(point, price_steps=None, policy=None if point.replicas == 1 else point.policy)


def _bound_points(point: Point, known: dict[Point, Replayed]) -> dict[str, Point]:
    """By what they are called. Single caches have no queue, so they need no virtual time."""
    point = _cache_of(point)
    single = replace(point, replicas=1, policy=None, timing=None)
    found = {"one cache without a limit": replace(single, capacity=None, ttl_s=None)}
    if point.capacity is not None:
        found["one cache of the size of all"] = replace(single, capacity=point.capacity * point.replicas)
    if point.replicas > 1:
        has_sessions = known[point].by_session is not None
        policy = _BY_SESSION if has_sessions else _NEAR_SESSIONS
        found[policy] = replace(point, policy=policy)
        found["the fleet"] = point
    return found


def _measured(
    choice: Choice,
    point: Point,
    row: SimulatedPoint,
    known: dict[Point, Replayed],
    facts: Replayable,
    wanted: Wanted,
) -> Choice:
    asked = _bound_points(point, known)
    bounds = {name: _bound(name, one, known[one]) for name, one in asked.items()}
    affinity, share = _affinity(bounds)
    fleet = _fleet(point, row, facts, wanted)
    routers = () if fleet is None else router_configurations(fleet)
    return replace(
        choice,
        bounds=tuple(bounds.values()),
        affinity=affinity,
        affinity_share=share,
        configurations=(*routers, *_engines(point, row, facts, wanted)),
        no_configuration=None if fleet is None or routers else why_none(fleet),
    )


def _bound(name: str, point: Point, replayed: Replayed) -> Bound:
    return Bound(
        name=name,
        hit_rate=replayed.hits / replayed.counted if replayed.counted else None,
        replicas=point.replicas,
        policy=point.policy,
        capacity_blocks=point.capacity,
    )


def _affinity(bounds: dict[str, Bound]) -> tuple[str, float | None]:
    most = bounds["one cache without a limit"].hit_rate
    if _BY_SESSION in bounds:
        rate = bounds[_BY_SESSION].hit_rate
        if rate is None or not most:
            return "nothing is repeated in this trace: session affinity has nothing to get", None
        return f"session affinity alone gets {_percent(rate)} of the {_percent(most)} possible", rate / most
    if _NEAR_SESSIONS in bounds:
        rate = bounds[_NEAR_SESSIONS].hit_rate
        near = (
            ""
            if rate is None or not most
            else f"; a hash of the first two blocks gets {_percent(rate)} of the {_percent(most)} possible"
        )
        return f"what session affinity gets cannot be stated, as the trace names no sessions{near}", None
    return "", None


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f} %"


def _fleet(point: Point, row: SimulatedPoint, facts: Replayable, wanted: Wanted) -> Fleet | None:
    """None for one replica, which needs no router."""
    if point.replicas == 1 or point.policy is None:
        return None
    name, settings = settings_of(point.policy)
    return _configured(point, row, facts, wanted, name, point.policy, settings)


def _configured(
    point: Point,
    row: SimulatedPoint,
    facts: Replayable,
    wanted: Wanted,
    policy: str = "",
    written: str = "",
    settings: dict[str, object] | None = None,
) -> Fleet:
    return Fleet(
        replicas=point.replicas,
        policy=policy,
        written=written,
        settings=settings or {},
        block_tokens=facts.block_tokens,
        capacity_tokens=row.capacity_tokens,
        capacity_bytes=None if row.capacity_gib is None else round(row.capacity_gib * GIB),
        gpus_per_replica=wanted.gpus_per_replica,
    )


def _engines(point: Point, row: SimulatedPoint, facts: Replayable, wanted: Wanted) -> tuple[Configuration, ...]:
    return engine_configurations(_configured(point, row, facts, wanted), point.rule)
