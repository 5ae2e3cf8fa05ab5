"""`simulate`: the hit rate of each cache that was replayed, with what it counts and by which rule."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hitrate.core.numerals import counted
from hitrate.core.simulation_results import SessionSpread, SimulatedPoint, SimulateResult
from hitrate.report import plan_words
from hitrate.report.columns import Column, Sheet, count, percent
from hitrate.report.plan_words import MONEY, TIMES, exact_percent, gib, times
from hitrate.report.words import Line, Listing, record_lines

TYPE = SimulateResult


def seconds(value: float) -> str:
    return f"{value:,g}"


def unlimited(_row: object) -> str:
    return "unlimited"


def _of_sessions(name: str, row: SimulatedPoint) -> float | None:
    return None if row.by_session is None else getattr(row.by_session, name)


ROWS = (
    Column(key="rule_set", header="rule"),
    Column(key="capacity_blocks", header="capacity\nblocks", show=count, unknown=unlimited),
    Column(key="capacity_gib", header="capacity\nGiB", show=gib, drop_order=4),
    plan_words.STORE,
    Column(key="ttl_s", header="lifetime\ns", show=seconds),
    Column(key="prompt_tokens", header="prompt\ntokens", show=count, drop_order=9),
    Column(key="hit_tokens", header="hit\ntokens", show=count, drop_order=5),
    Column(key="hit_rate", header="hit\nrate %", show=exact_percent),
    Column(key="replicas", header="replicas", show=count),
    Column(key="policy", header="policy"),
    Column(key="imbalance", header="busiest\nby mean", show=times, drop_order=3),
    *MONEY,
    *TIMES,
    Column(key="plan", header="plan", unknown=lambda _: "", drop_order=1),
    Column(key="definition", header="counted"),
)

_OF_FLEETS = ("replicas", "policy", "imbalance")
_OFTEN_UNKNOWN = ("capacity_gib", "store", "ttl_s", "plan", *(column.key for column in (*MONEY, *TIMES)))

POINTS = (
    Column(key="capacity_blocks", header="capacity\nblocks", show=count),
    Column(key="capacity_gib", header="capacity\nGiB", show=gib, drop_order=1),
    Column(key="hit_tokens", header="hit\ntokens", show=count),
    Column(key="hit_rate", header="hit\nrate %", show=exact_percent),
    Column(key="share_of_most", header="of the\nmost %", show=percent),
)

RECORDS = tuple(
    Column(key=name, header=name) for name in SimulatedPoint.__struct_fields__ if name != "by_session"
) + tuple(
    Column(key=f"session_{name}", header=name, get=partial(_of_sessions, name))
    for name in SessionSpread.__struct_fields__
)


def title(result: SimulateResult) -> str:
    return f"simulate · {result.trace} · {result.format}, blocks of {result.block_size:,} tokens"


def sheets(result: SimulateResult) -> list[Sheet]:
    made = [rows_sheet(result)] if result.rows else []
    if (plan := plan_words.sheet(result)) is not None:
        made.append(plan)
    if result.curve is not None:
        heading = f"the curve of {result.curve.rule_set}, counted by {result.curve.definition}"
        rows = tuple(_doubled(result.curve.points))
        made.append(Sheet(title=heading, columns=_shown(POINTS, rows), rows=rows))
    return made


def rows_sheet(result: SimulateResult) -> Sheet:
    return Sheet(columns=_shown(tuple(plan_words.goal_kept(ROWS, result.plan)), result.rows), rows=result.rows)


def _doubled(points: tuple[SimulatedPoint, ...]) -> Iterator[SimulatedPoint]:
    """The powers of two, from the last on that serves no more than a single block does, and the largest."""
    least = points[0].hits if points else 0.0
    for number, point in enumerate(points):
        last = number == len(points) - 1
        size = point.capacity_blocks or 0
        if last or (size & (size - 1) == 0 and points[number + 1].hits > least):
            yield point


def _shown(columns: tuple[Column, ...], rows: tuple[SimulatedPoint, ...]) -> tuple[Column, ...]:
    """Without those of which no row knows anything, and those of fleets for one replica."""
    bare = {name for name in _OFTEN_UNKNOWN if all(getattr(row, name, None) is None for row in rows)}
    if all(row.replicas == 1 for row in rows):
        bare.update(_OF_FLEETS)
    return tuple(column for column in columns if column.key not in bare)


def records(result: SimulateResult) -> Sheet:
    """The points of the curve behind the others."""
    points = () if result.curve is None else result.curve.points
    return Sheet(columns=RECORDS, rows=(*result.rows, *points))


def lines(result: SimulateResult) -> list[Line]:
    return list(_lines(result))


def _lines(result: SimulateResult) -> Iterator[Line]:
    yield Line(
        "measurement",
        f"{counted(result.trace_requests, 'request')}, {counted(result.trace_blocks, 'block')}, "
        f"{count(result.trace_distinct_blocks)} of them distinct",
    )
    yield from (Line("verdict", knee) for knee in knees(result))
    yield from plan_words.lines(result)
    yield from method_lines(result)


def method_lines(result: SimulateResult) -> Iterator[Line]:
    """How rates were counted, how far apart sessions lie, and what was assumed."""
    yield from _definition_lines(result)
    yield from _session_lines(result)
    for row in result.rows:
        if row.never_fit:
            cache = f"{row.rule_set} with {counted(row.capacity_blocks or 0, 'block')}"
            yield Line(
                "warning",
                f"{cache}: {counted(row.never_fit, 'request')} {'is' if row.never_fit == 1 else 'are'} longer than the "
                "whole cache; an engine refuses such, here they are served nothing",
            )
    yield from (Line("warning", warning) for warning in result.warnings)
    yield from (Line("note", note) for note in result.notes)
    yield from record_lines(result.trace, result.records)


def listings(result: SimulateResult) -> list[Listing]:
    return plan_words.listings(result)


def _session_lines(result: SimulateResult) -> Iterator[Line]:
    """Of a single row; JSON and CSV have them all."""
    if len(result.rows) != 1 or (found := result.rows[0].by_session) is None:
        return
    parts = (("lowest", found.min), ("quarter", found.p25), ("median", found.median), ("three quarters", found.p75))
    text = ", ".join(f"{name} {percent(rate)} %" for name, rate in (*parts, ("highest", found.max)))
    yield Line(
        "measurement", f"of {counted(found.sessions, 'session')} each by itself: {text}, mean {percent(found.mean)} %"
    )


def knees(result: SimulateResult) -> Iterator[str]:
    """The sizes that matter, in words."""
    if result.curve is None or not result.curve.knees:
        return
    most = result.curve.points[-1]
    parts = [f"{percent(point.share_of_most or 0)} % of it at {_size(point)}" for point in result.curve.knees]
    yield f"the most there is, {exact_percent(most.hit_rate or 0)} %, at {_size(most)}; {', '.join(parts)}"


def _size(point: SimulatedPoint) -> str:
    blocks = counted(point.capacity_blocks or 0, "block")
    return blocks if point.capacity_gib is None else f"{blocks} ({gib(point.capacity_gib)} GiB)"


def _definition_lines(result: SimulateResult) -> Iterator[Line]:
    points = () if result.curve is None else result.curve.points[:1]
    for name, text in {row.definition: row.definition_text for row in (*result.rows, *points)}.items():
        yield Line("expectation", f"counted by {name}: {text}")
