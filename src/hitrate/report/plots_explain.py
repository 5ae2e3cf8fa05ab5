"""Plots of an explanation: where the prompt tokens went, and what each call was served."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hitrate.core.findings import LABELS, ExplainReport, Waterfall
from hitrate.report.columns import count, percent
from hitrate.report.series import axis_numbers
from hitrate.report.svg import Drawing, axis_room, grid

MOST_BARS = 9

_BAR, _STEP, _LEGEND = 26.0, 56.0, 20.0
"""Heights of a bar, of a bar with its words, and of a line of the legend."""


class Bar(Struct, frozen=True, kw_only=True):
    """Prompt tokens per label, in the order of `LABELS`."""

    name: str
    prompt_tokens: int
    parts: tuple[tuple[str, int], ...]


class CallPoint(Struct, frozen=True):
    call: int
    rate: float | None
    has_finding: bool


def bars(report: ExplainReport) -> list[Bar]:
    """The whole log, and the sessions that lost most where there are several."""
    made = [_bar("all calls", report.waterfall)]
    if len(report.by_session) > 1:
        dearest = sorted(report.by_session, key=lambda one: -one.waterfall.lost_tokens)[: MOST_BARS - 1]
        made += [_bar(f"session {one.session}", one.waterfall) for one in dearest]
    return [bar for bar in made if bar.prompt_tokens > 0]


def _bar(name: str, waterfall: Waterfall) -> Bar:
    sums = {label: sum(one.tokens for one in waterfall.labels if one.label == label) for label in LABELS}
    parts = tuple((label, tokens) for label, tokens in sums.items() if tokens > 0)
    return Bar(name=name, prompt_tokens=waterfall.prompt_tokens, parts=parts)


def points(report: ExplainReport) -> list[CallPoint]:
    found = {call for finding in report.findings for call in (*finding.calls, finding.call) if call is not None}
    return [CallPoint(one.call, one.hit_rate, one.call in found) for one in report.by_call]


def waterfall_plot(bars: Sequence[Bar], width: float) -> Drawing:
    """One stacked bar for all, one a session, each as wide as the plot. Numbers tie the parts to the legend."""
    whole = bars[0]
    shown = [label for label in LABELS if any(label == name for bar in bars for name, _ in bar.parts)]
    bottom = _STEP * len(bars) + 8
    drawing = Drawing(width, bottom + _LEGEND * len(shown) + 8)
    for number, bar in enumerate(bars):
        _stack(drawing, bar, shown, _STEP * number, width)
    sums = dict(whole.parts)
    for place, label in enumerate(shown):
        y = bottom + _LEGEND * place + 12
        drawing.add("rect", x=0.0, y=y - 11, width=13.0, height=13.0, class_=f"part-{LABELS.index(label)}")
        tokens = sums.get(label, 0)
        share = f"{percent(tokens / whole.prompt_tokens)} %"
        about = "" if label == "served" or not tokens else "≈ "
        drawing.text(20, y, f"{place + 1}  {label}: {about}{count(tokens)} tokens, {share}")
    return drawing


def _stack(drawing: Drawing, bar: Bar, shown: Sequence[str], top: float, width: float) -> None:
    most = int(width / 11)
    name = bar.name if len(bar.name) <= most else bar.name[: most - 1] + "…"
    drawing.text(0, top + 16, name, "strong")
    drawing.text(width, top + 16, f"{count(bar.prompt_tokens)} tokens", "muted", "end")
    x, scale = 0.0, width / sum(tokens for _, tokens in bar.parts)
    for label, tokens in bar.parts:
        part = tokens * scale
        drawing.add("rect", x=x, y=top + 24, width=part, height=_BAR, class_=f"part-{LABELS.index(label)}")
        if part > 14:
            drawing.text(x + part / 2, top + 42, str(shown.index(label) + 1), "label strong", "middle")
        x += part


def hit_rate_plot(points: Sequence[CallPoint], width: float) -> Drawing:
    """Hit rate of each call, 0 to 100 %. A call with a finding has a line up to the top and another shape."""
    left, top, height = axis_room([100.0]), 26.0, 190.0
    box = (left, top, width - left - 12.0, height)
    bottom = top + height
    drawing = Drawing(width, bottom + 30)
    grid(drawing, [0.0, 25.0, 50.0, 75.0, 100.0], box, "%")
    first, last = points[0].call, points[-1].call
    pitch = (box[2] - 20) / max(1, last - first)

    def x_of(call: int) -> float:
        return left + 10 + pitch * (call - first)

    for call in axis_numbers(first, last, int(box[2] / (48 if last >= 1000 else 32))):
        drawing.text(x_of(call), bottom + 18, str(call), "tick", "middle")
    drawing.text(left - 8, bottom + 18, "call", "muted", "end")
    for point in points:
        if point.has_finding:
            drawing.line(x_of(point.call), top, x_of(point.call), bottom, "break")
    for point in points:
        y = bottom - height * min(1.0, max(0.0, point.rate or 0.0))
        kept = None if point.rate is None else not point.has_finding
        drawing.mark(x_of(point.call), y, kept)
    return drawing
