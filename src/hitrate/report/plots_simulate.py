"""The plot of a replay: hit rate over the size of the cache, on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from hitrate.core.simulation_results import SimulatedPoint, SimulateResult
from hitrate.report.plan_words import behind
from hitrate.report.svg import Drawing, axis_room, grid

_HEIGHT, _TOP, _LEGEND = 240.0, 26.0, 20.0
_MOST_LINES = 8


class Line(Struct, frozen=True):
    """`points` are (blocks, rate) of caches with a limit, in the order of their size."""

    name: str
    points: tuple[tuple[int, float], ...]


def lines(result: SimulateResult) -> list[Line]:
    """The curve, and the rows by rule, definition, lifetime, replicas and policy: not more than can be told apart."""
    found: dict[str, list[SimulatedPoint]] = {}
    if result.curve is not None:
        found[f"{result.curve.rule_set}, {result.curve.definition}, every size"] = list(result.curve.points)
    for row in result.rows:
        lifetime = "" if row.ttl_s is None else f", {row.ttl_s:g} s"
        routed = "" if row.replicas == 1 else f", {row.replicas} replicas by {row.policy}"
        name = f"{row.rule_set}, {row.definition}{lifetime}{routed}{behind(row)}"
        found.setdefault(name, []).append(row)
    made: list[Line] = []
    for name, rows in _told_apart(found, result):
        points = sorted(
            (row.capacity_blocks, row.hit_rate)
            for row in rows
            if row.capacity_blocks is not None and row.hit_rate is not None
        )
        if points:
            made.append(Line(name, tuple(points)))
    return made


def _told_apart(
    found: dict[str, list[SimulatedPoint]], result: SimulateResult
) -> list[tuple[str, list[SimulatedPoint]]]:
    """Of fleets those as large as the largest that was chosen."""
    chosen = () if result.plan is None else result.plan.choices
    if len(found) <= _MOST_LINES or not chosen:
        return list(found.items())[:_MOST_LINES]
    replicas = result.rows[chosen[-1].row].replicas
    return [(name, rows) for name, rows in found.items() if rows[0].replicas in (1, replicas)][:_MOST_LINES]


def plot(shown: Sequence[Line], width: float) -> Drawing:
    sizes = [size for line in shown for size, _ in line.points]
    first, last = math.log10(min(sizes)), math.log10(max(sizes))
    last = max(last, first + 0.3)
    scale = _scale(max(rate for line in shown for _, rate in line.points))
    left = axis_room(scale)
    box = (left, _TOP, width - left - 14.0, _HEIGHT)
    bottom = _TOP + _HEIGHT
    drawing = Drawing(width, bottom + 46 + _LEGEND * len(shown))
    grid(drawing, scale, box, "%")

    def x_of(size: float) -> float:
        return left + box[2] * (math.log10(size) - first) / (last - first)

    for power in range(math.ceil(first), math.floor(last) + 1):
        drawing.line(x_of(10**power), _TOP, x_of(10**power), bottom, "grid")
        drawing.text(x_of(10**power), bottom + 18, f"{10**power:,}", "tick", "middle")
    drawing.text(left + box[2], bottom + 36, "blocks", "muted", "end")
    for number, line in enumerate(shown):
        places = [(x_of(size), bottom - _HEIGHT * 100 * rate / scale[-1]) for size, rate in line.points]
        _draw(drawing, places, number)
        y = bottom + 50 + _LEGEND * number
        _draw(drawing, [(2.0, y - 4), (22.0, y - 4)], number)
        drawing.text(30, y, f"{number + 1}  {line.name}")
    return drawing


def _draw(drawing: Drawing, places: Sequence[tuple[float, float]], number: int) -> None:
    """A line through few points shows them too; further lines are told apart by their dashes."""
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    dashes = {"stroke_dasharray": f"{2 + 3 * number} 3"} if number else {}
    drawing.add("path", d=path, fill="none", stroke="currentColor", stroke_width=2.0, **dashes)
    if len(places) <= 12:
        for x, y in places:
            drawing.add("circle", cx=x, cy=y, r=3.0, class_="kept")


def _scale(highest: float) -> list[float]:
    step = next(size for size in (0.5, 1, 2.5, 5, 10, 25) if 100 * highest <= 4 * size)
    return [step * number for number in range(math.ceil(100 * highest / step - 1e-9) + 1)] or [0.0, step]
