"""Plots of a plan: what rows cost against what they gain, hit rates over replicas, waiting, and how even the work is.

Policies are told apart by the shape of their marks and by a number at it; colour only repeats that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from hitrate.core.numerals import counted
from hitrate.core.simulation_results import Plan, SimulatedPoint, SimulateResult
from hitrate.report.plan_words import behind, gib, seconds, times
from hitrate.report.series import ticks
from hitrate.report.svg import NARROW, Drawing, axis_room, grid

MOST_SERIES = 10
_HEIGHT, _TOP, _LEGEND = 260.0, 26.0, 20.0
_BAR, _STEP = 18.0, 50.0
_CHARACTER = 8.4
"""Width of most of them, in bold; longer names are cut."""


class Mark(Struct, frozen=True, kw_only=True):
    """A row in the plot of costs. `series` numbers its policy, from 0."""

    x: float
    y: float
    series: int
    plan: str | None


class Scatter(Struct, frozen=True, kw_only=True):
    """`lower_is_better` is of the vertical axis."""

    marks: tuple[Mark, ...]
    names: tuple[str, ...]
    x_text: str
    y_text: str
    lower_is_better: bool
    goal: float | None


def scatter(result: SimulateResult) -> Scatter | None:
    """None where fewer than two rows have both a cost and a gain."""
    plan = result.plan
    if plan is None:
        return None
    names = _names(result.rows)
    timed = plan.gain != "hit_rate"
    # Without times a fleet costs what its replicas cost, whatever their memory: that is what is left to be weighed.
    by_memory = plan.cost == "memory" or (plan.cost == "provisioned_usd" and not timed)
    marks = tuple(_marks(result.rows, plan, names, timed=timed, by_memory=by_memory))
    if len(marks) < 2:
        return None
    unit = "GiB" if any(row.capacity_gib is not None for row in result.rows) else "tokens"
    return Scatter(
        marks=marks,
        names=tuple(names),
        x_text=f"KV memory of all replicas in {unit}" if by_memory else plan.cost_text,
        y_text=f"time to first token, {plan.gain.split('_')[1]}, s" if timed else "hit rate, %",
        lower_is_better=timed,
        goal=None if plan.goal is None else plan.goal.seconds,
    )


def _names(rows: Sequence[SimulatedPoint]) -> list[str]:
    """Of policies, and of rules and lifetimes where there are several."""
    return list(dict.fromkeys(_name(row, rows) for row in rows))[:MOST_SERIES]


def _name(row: SimulatedPoint, rows: Sequence[SimulatedPoint]) -> str:
    parts = [(row.policy or "") if row.replicas > 1 else "one replica"]
    if len({one.rule_set for one in rows}) > 1:
        parts.append(row.rule_set)
    if len({one.ttl_s for one in rows}) > 1:
        parts.append("no lifetime" if row.ttl_s is None else f"{row.ttl_s:,g} s")
    return ", ".join(part for part in parts if part) + behind(row)


def _memory(row: SimulatedPoint) -> float | None:
    one = row.capacity_tokens if row.capacity_gib is None else row.capacity_gib
    return None if one is None else float(row.replicas * one)


def _marks(
    rows: Sequence[SimulatedPoint], plan: Plan, names: Sequence[str], *, timed: bool, by_memory: bool
) -> Iterator[Mark]:
    for row in rows:
        x, gain = _memory(row) if by_memory else getattr(row, plan.cost), getattr(row, plan.gain)
        name = _name(row, rows)
        if x is not None and gain is not None and name in names:
            yield Mark(x=x, y=gain if timed else 100 * gain, series=names.index(name), plan=row.plan)


def scatter_plot(found: Scatter, width: float) -> Drawing:
    """On a logarithmic axis of costs where they span more than a factor of eight."""
    highest = max([mark.y for mark in found.marks] + [found.goal or 0.0])
    scale = ticks(highest)
    left = axis_room(scale)
    box = (left, _TOP, width - left - 18.0, _HEIGHT)
    bottom = _TOP + _HEIGHT
    drawing = Drawing(width, bottom + 52 + _LEGEND * len(found.names))
    grid(drawing, scale, box, found.y_text)
    x_of = _horizontal(drawing, [mark.x for mark in found.marks], box)
    drawing.text(left + box[2], bottom + 36, found.x_text, "muted", "end")

    def place(mark: Mark) -> tuple[float, float]:
        # Beside each other where costs are the same.
        return x_of(mark.x) + 3.0 * (mark.series - (len(found.names) - 1) / 2), bottom - _HEIGHT * min(
            mark.y, scale[-1]
        ) / scale[-1]

    if len(front := _front(found)) > 1:
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in map(place, front))
        drawing.add("path", d=path, class_="line-0")
    if found.goal is not None:
        y = bottom - _HEIGHT * found.goal / scale[-1]
        drawing.line(left, y, left + box[2], y, "median")
        drawing.text(left + box[2], y - 6, f"goal {seconds(found.goal)} s", "label strong", "end")
    for mark in sorted(found.marks, key=lambda mark: bool(mark.plan)):
        shape(drawing, *place(mark), mark.series)
    for mark in found.marks:
        if mark.plan == "chosen":
            x, y = place(mark)
            drawing.add("circle", cx=x, cy=y, r=11.0, class_="chosen")
    _legend(drawing, list(enumerate(found.names)), bottom + 56)
    return drawing


def _front(found: Scatter) -> list[Mark]:
    """Of the marks those that no other is left of and better than, from the left."""
    sign = 1 if found.lower_is_better else -1
    front: list[Mark] = []
    for mark in sorted(found.marks, key=lambda mark: (mark.x, sign * mark.y)):
        if not front or sign * mark.y < sign * front[-1].y:
            front.append(mark)
    return front


def _horizontal(
    drawing: Drawing, values: Sequence[float], box: tuple[float, float, float, float]
) -> Callable[[float], float]:
    """Draws the ticks of an axis, and gives the place of a value on it."""
    left, top, width, height = box
    low, high = min(values), max(values)
    inner = width - 24
    logarithmic = low > 0 and high / low > 8
    if logarithmic:
        first, last = math.log10(low), math.log10(high)
        shown = [10.0**power for power in range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)]
        if len(shown) < 2:
            shown = [step * 10.0**power for power in range(math.floor(first), math.ceil(last)) for step in (1, 2, 5)]
    else:
        first, last = 0.0, high or 1.0
        shown = ticks(last)

    def x_of(value: float) -> float:
        at = math.log10(value) if logarithmic else value
        return left + 12 + inner * (at - first) / max(last - first, 1e-9)

    for value in shown:
        x = x_of(value)
        if left <= x <= left + width:
            drawing.line(x, top, x, top + height, "grid")
            drawing.text(x, top + height + 18, f"{value:,.10g}", "tick", "middle")
    return x_of


class Line(Struct, frozen=True):
    """`points` are (replicas, hit rate in %), rising; `series` as in the plot of costs."""

    name: str
    series: int
    points: tuple[tuple[int, float], ...]


def over_replicas(result: SimulateResult) -> tuple[str, list[Line]] | None:
    """What each replica has, and a line a policy; None without two numbers of replicas. Of several sizes the one that
    was chosen for most replicas."""
    plan = result.plan
    if plan is None or len({row.replicas for row in result.rows}) < 2:
        return None
    anchor = result.rows[plan.choices[-1].row if plan.choices else plan.front[-1]]
    found: dict[str, dict[int, float]] = {}
    for row in result.rows:
        if _alike(row, anchor) and row.hit_rate is not None:
            for policy in _policies(row, result.rows):
                found.setdefault(policy, {})[row.replicas] = 100 * row.hit_rate
    first = int(any(row.replicas == 1 for row in result.rows))
    lines = [
        Line(name, first + number, tuple(sorted(points.items())))
        for number, (name, points) in enumerate(found.items())
        if len(points) > 1
    ]
    size = "no limit" if anchor.capacity_blocks is None else counted(anchor.capacity_blocks, "block")
    return (f"{size} a replica", lines[:MOST_SERIES]) if lines else None


def _alike(row: SimulatedPoint, other: SimulatedPoint) -> bool:
    """In all but replicas and policy."""
    names = ("capacity_blocks", "rule_set", "ttl_s", "definition", "store", "store_blocks")
    return all(getattr(row, name) == getattr(other, name) for name in names)


def _policies(row: SimulatedPoint, rows: Sequence[SimulatedPoint]) -> list[str]:
    """A single replica is where the lines of all policies start."""
    if row.replicas > 1:
        return [row.policy or ""]
    return list(dict.fromkeys(one.policy or "" for one in rows if one.replicas > 1))


def replicas_plot(lines: Sequence[Line], width: float) -> Drawing:
    """Each doubling of replicas is as wide."""
    scale = ticks(max(rate for line in lines for _, rate in line.points))
    left = axis_room(scale)
    box = (left, _TOP, width - left - 18.0, _HEIGHT)
    bottom = _TOP + _HEIGHT
    drawing = Drawing(width, bottom + 52 + _LEGEND * len(lines))
    grid(drawing, scale, box, "hit rate, %")
    counts = sorted({replicas for line in lines for replicas, _ in line.points})
    first, last = math.log2(counts[0]), math.log2(counts[-1])

    def x_of(replicas: int) -> float:
        return left + 12 + (box[2] - 24) * (math.log2(replicas) - first) / (last - first)

    for number in counts:
        drawing.text(x_of(number), bottom + 18, str(number), "tick", "middle")
    drawing.text(left + box[2], bottom + 36, "replicas", "muted", "end")
    for line in lines:
        places = [(x_of(replicas), bottom - _HEIGHT * rate / scale[-1]) for replicas, rate in line.points]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        dashes = {"stroke_dasharray": f"{2 + 3 * line.series} 3"} if line.series else {}
        drawing.add("path", d=path, class_="thin", **dashes)
        for x, y in places:
            shape(drawing, x, y, line.series)
    _legend(drawing, [(line.series, line.name) for line in lines], bottom + 56)
    return drawing


class Bar(Struct, frozen=True, kw_only=True):
    """`value` is where the bar ends, `marks` further places on its scale, `text` what is said of it."""

    name: str
    value: float
    marks: tuple[float, ...] = ()
    text: str
    strong: bool = False


MOST_BARS = 12


def waits(result: SimulateResult) -> list[Bar]:
    """Time to first token of the rows of the plan: bars to the median, marks at p90 and p99."""
    rows = [row for row in result.rows if row.plan and row.ttft_p50_s is not None]
    made = []
    for row in rows[:MOST_BARS]:
        p50, p90, p99 = (getattr(row, f"ttft_{name}_s") for name in ("p50", "p90", "p99"))
        text = f"p50 {seconds(p50)}, p90 {seconds(p90)}, p99 {seconds(p99)} s"
        made.append(Bar(name=_in_short(row), value=p50, marks=(p90, p99), text=text, strong=row.plan == "chosen"))
    return made


def _in_short(row: SimulatedPoint) -> str:
    """ "8 x 64.00 GiB, session-affinity"."""
    size = "no limit" if row.capacity_blocks is None else counted(row.capacity_blocks, "block")
    size = size if row.capacity_gib is None else f"{gib(row.capacity_gib)} GiB"
    routed = f", {row.policy}" if row.replicas > 1 else ""
    return f"{row.replicas} × {size}{routed}" + ("" if row.store is None else ", store")


def burdens(result: SimulateResult) -> tuple[str, list[Bar]] | None:
    """How uneven each policy's work is, of the fleet that was chosen for most replicas, and what fleet that is."""
    plan = result.plan
    if plan is None or not (plan.choices or plan.front):
        return None
    anchor = result.rows[plan.choices[-1].row if plan.choices else plan.front[-1]]
    rows = [
        row
        for row in result.rows
        if row.imbalance is not None and row.replicas == anchor.replicas and _alike(row, anchor)
    ]
    bars = [
        Bar(
            name=row.policy or "",
            value=row.imbalance or 0.0,
            text=f"{times(row.imbalance or 0.0)} times the mean of {row.replicas}",
            strong=row.plan == "chosen",
        )
        for row in rows[:MOST_BARS]
    ]
    size = "no limit" if anchor.capacity_blocks is None else counted(anchor.capacity_blocks, "block")
    return (f"{anchor.replicas} replicas, {size} each", bars) if len(bars) > 1 else None


def bar_plot(bars: Sequence[Bar], width: float, *, line: float | None = None, name: str = "") -> Drawing:
    """Bars on one scale; `line` goes through them all, as a goal does or the value of an even fleet."""
    highest = max([*(max((bar.value, *bar.marks)) for bar in bars), line or 0.0]) or 1.0
    narrow = width < 2 * NARROW
    step = _STEP + (16 if narrow else 0)
    drawing = Drawing(width, step * len(bars) + 24)
    inner = width - 8

    def x_of(value: float) -> float:
        return inner * value / highest

    for number, bar in enumerate(bars):
        top = step * number
        shown = _cut(("▸ " if bar.strong else "") + bar.name, width)
        drawing.text(0, top + 14, shown, "strong" if bar.strong else "")
        drawing.text(
            0 if narrow else width, top + (30 if narrow else 14), bar.text, "muted", "start" if narrow else "end"
        )
        y = top + (36 if narrow else 20)
        class_ = "part-0" if bar.strong else "part-1"
        drawing.add("rect", x=0.0, y=y, width=max(1.0, x_of(bar.value)), height=_BAR, class_=class_)
        if bar.marks:
            drawing.line(x_of(bar.value), y + _BAR / 2, x_of(bar.marks[-1]), y + _BAR / 2, "notch")
        for mark in bar.marks:
            drawing.line(x_of(mark), y + 3, x_of(mark), y + _BAR - 3, "notch")
        if line is not None:
            drawing.line(x_of(line), y - 1, x_of(line), y + _BAR + 3, "median")
    if line is not None:
        bottom = step * len(bars) + 4
        anchor = "end" if x_of(line) > width / 2 else "start"
        drawing.text(x_of(line), bottom + 16, name, "tick", anchor)
    return drawing


def _cut(text: str, width: float) -> str:
    most = int(width / _CHARACTER)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def shape(drawing: Drawing, x: float, y: float, series: int) -> None:
    """Ten shapes, so that policies differ without their colours."""
    class_ = f"part-{series % 10}" if series % 10 != 8 else "part-9"
    if series % 5 == 0:
        drawing.add("circle", cx=x, cy=y, r=4.6, class_=class_)
    else:
        drawing.add("path", d=_SHAPES[series % 5].format(x=f"{x:.1f}", y=f"{y:.1f}"), class_=class_)
    if series >= 5:
        drawing.add("circle", cx=x, cy=y, r=1.6, class_="hole")


_SHAPES = {
    1: "M{x} {y}m-4.4-4.4h8.8v8.8h-8.8z",
    2: "M{x} {y}m0-6l6 6l-6 6l-6-6z",
    3: "M{x} {y}m0-5.6l5.6 9.6h-11.2z",
    4: "M{x} {y}m0 5.6l5.6-9.6h-11.2z",
}


def _legend(drawing: Drawing, names: Sequence[tuple[int, str]], top: float) -> None:
    for place, (series, name) in enumerate(names):
        y = top + _LEGEND * place
        shape(drawing, 8.0, y - 4, series)
        drawing.text(24, y, _cut(name, drawing.width - 24))
