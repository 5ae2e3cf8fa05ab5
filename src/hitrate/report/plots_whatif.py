"""The plot of a what-if: the hit rate measured, predicted as sent, and predicted with each fix."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hitrate.core.whatif_results import WhatIfReport
from hitrate.report.columns import percent
from hitrate.report.svg import Drawing

_STEP, _BAR = 48.0, 20.0


class RateBar(Struct, frozen=True):
    name: str
    rate: float
    predicted: bool


def rate_bars(report: WhatIfReport) -> list[RateBar]:
    made = [RateBar("measured", report.measured.hit_rate, False)] if report.measured.hit_rate is not None else []
    return made + [RateBar(one.name, one.hit_rate, True) for one in report.scenarios if one.hit_rate is not None]


def rate_plot(bars: Sequence[RateBar], width: float) -> Drawing:
    """A bar each, as long as its share of the plot's width."""
    drawing = Drawing(width, _STEP * len(bars) + 8)
    for number, bar in enumerate(bars):
        top = _STEP * number
        drawing.text(0, top + 16, bar.name, "strong")
        about = "≈ " if bar.predicted else ""
        drawing.text(width, top + 16, f"{about}{percent(bar.rate)} %", "muted", "end")
        drawing.add("rect", x=0.0, y=top + 22, width=width, height=_BAR, class_="part-1")
        drawing.add("rect", x=0.0, y=top + 22, width=width * min(1.0, bar.rate), height=_BAR, class_="part-0")
    return drawing
