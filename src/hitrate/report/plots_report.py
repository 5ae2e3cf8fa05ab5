"""Plots of a business case: before and after, causes, tokens and money, turns, times, and when a write pays back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from hitrate.core.business_case import BusinessCase, ColdWarm, Estimated, Spread, TurnRate
from hitrate.core.cost import BreakEven
from hitrate.core.findings import LABELS
from hitrate.report.business_words import VOICES, YOURS_MENDED, all_mended, cash, has_both, rate
from hitrate.report.columns import count, milliseconds, percent
from hitrate.report.series import axis_numbers, ticks
from hitrate.report.svg import NARROW, Drawing, axis_room, grid, label_heights

_BAR, _STEP, _LEGEND = 24.0, 54.0, 20.0
"""Heights of a bar, of a bar with its words, and of a line of a legend."""

MOST_FIX_BARS = 10
MOST_CALLS_DRAWN = 6
"""Calls with one prefix, in the plot of when a write pays back."""

OUTPUT = "output"

TOKENS = "prompt tokens"


class OutcomeBar(Struct, frozen=True, kw_only=True):
    """`value` is in `outcome_bars`' unit; `lost` the part of it that was avoidable; `more` has room on a wide plot."""

    name: str
    basis: str
    value: float
    lost: float = 0.0
    text: str
    more: str = ""


def outcome_bars(report: BusinessCase) -> list[OutcomeBar]:
    """In dollars where they are known, else by hit rate. Empty where neither is."""
    return _money_bars(report) if report.now.usd else _rate_bars(report)


def _money_bars(report: BusinessCase) -> list[OutcomeBar]:
    now = report.now
    bars = []
    if now.usd_without_caching is not None and now.cached_tokens is not None:
        bars.append(
            OutcomeBar(
                name="without caching",
                basis="without",
                value=now.usd_without_caching,
                text=cash(now.usd_without_caching),
            )
        )
    spent = now.usd or 0.0
    lost = report.reachable.saved_usd or 0.0
    more = "" if now.hit_rate is None else f", hit rate {rate(now.hit_rate)}"
    bars.append(OutcomeBar(name="as it was", basis="measured", value=spent, lost=lost, text=cash(spent), more=more))
    for name, one in _after(report):
        if one.usd is not None and one.saved_usd:
            more = "" if one.hit_rate is None else f", hit rate ≈ {rate(one.hit_rate)}"
            bars.append(OutcomeBar(name=name, basis="estimated", value=one.usd, text=f"≈ {cash(one.usd)}", more=more))
    return bars


def _rate_bars(report: BusinessCase) -> list[OutcomeBar]:
    bars = []
    if report.now.hit_rate is not None:
        text = rate(report.now.hit_rate)
        bars.append(OutcomeBar(name="as it was", basis="measured", value=report.now.hit_rate, text=text))
    for name, one in _after(report):
        if one.hit_rate is not None and one.lost_tokens:
            text = f"≈ {rate(one.hit_rate)}"
            bars.append(OutcomeBar(name=name, basis="estimated", value=one.hit_rate, text=text))
    return bars


def _after(report: BusinessCase) -> Iterator[tuple[str, Estimated]]:
    if has_both(report):
        yield YOURS_MENDED, report.yours
    yield all_mended(report), report.reachable


def outcome_plot(bars: Sequence[OutcomeBar], highest: float, width: float) -> Drawing:
    """A bar each on one scale; of the bill as it was, the avoidable end stands apart."""
    drawing = Drawing(width, _STEP * len(bars) + 4)
    for number, bar in enumerate(bars):
        top = _STEP * number
        drawing.text(0, top + 16, bar.name, "strong")
        drawing.text(width, top + 16, bar.text + ("" if width < 2 * NARROW else bar.more), "muted", "end")
        full = width * bar.value / highest
        lost = min(full, width * bar.lost / highest)
        class_ = {"without": "part-1", "measured": "part-0"}.get(bar.basis, "estimate")
        drawing.add("rect", x=0.0, y=top + 23, width=max(1.0, full - lost), height=_BAR, class_=class_)
        if lost > 0:
            drawing.add("rect", x=full - lost, y=top + 23, width=lost, height=_BAR, class_="computed")
    return drawing


class Stack(Struct, frozen=True, kw_only=True):
    name: str
    whole: str
    parts: tuple[tuple[str, float], ...]


def stacks(report: BusinessCase) -> list[Stack]:
    """Prompt tokens by label and, where every amount is known, the bill."""
    waterfall = report.waterfall
    tokens = dict.fromkeys(LABELS, 0)
    usd: dict[str, float] = dict.fromkeys(LABELS, 0.0)
    for one in waterfall.labels:
        tokens[one.label] += one.tokens
        usd[one.label] += one.usd or 0.0
    made = []
    if waterfall.prompt_tokens:
        parts = tuple((label, float(number)) for label, number in tokens.items() if number)
        made.append(Stack(name=TOKENS, whole=f"{count(waterfall.prompt_tokens)} tokens", parts=parts))
    known = all(one.usd is not None for one in waterfall.labels if one.tokens)
    if made and known and report.now.usd and report.now.output_usd is not None:
        amounts = [(label, amount) for label, amount in usd.items() if amount]
        if report.now.output_usd > 0:
            amounts.append((OUTPUT, report.now.output_usd))
        made.append(Stack(name="the bill", whole=cash(sum(amount for _, amount in amounts)), parts=tuple(amounts)))
    return made


def stack_plot(found: Sequence[Stack], width: float) -> Drawing:
    """Stacked bars as wide as the plot, tokens above money. Numbers tie the parts to the legend."""
    shown = [label for label in (*LABELS, OUTPUT) if any(label == name for one in found for name, _ in one.parts)]
    bottom = _STEP * len(found) + 10
    narrow = width < 2 * NARROW
    step = _LEGEND * (2 if narrow else 1)
    drawing = Drawing(width, bottom + step * len(shown) + 6)
    for number, one in enumerate(found):
        _stack(drawing, one, shown, _STEP * number, width)
    for place, label in enumerate(shown):
        y = bottom + step * place + 12
        drawing.add("rect", x=0.0, y=y - 11, width=13.0, height=13.0, class_=_part(label))
        drawing.text(20, y, f"{place + 1}  {label}", "strong")
        words = [_share(one, label, in_short=narrow) for one in found]
        x, below = (20, 17) if narrow else (190, 0)
        drawing.text(x, y + below, ", ".join(text for text in words if text), "muted")
    return drawing


def _share(one: Stack, label: str, *, in_short: bool) -> str:
    value = dict(one.parts).get(label)
    if value is None:
        return ""
    share = f"{percent(value / sum(part for _, part in one.parts))} % of {one.name}"
    about = "" if label in ("served", OUTPUT) else "≈ "
    if in_short:
        return about + share
    return f"{about}{count(round(value))} ({share})" if one.name == TOKENS else f"{about}{cash(value)} ({share})"


def _part(label: str) -> str:
    return "part-9" if label == OUTPUT else f"part-{LABELS.index(label)}"


def _stack(drawing: Drawing, one: Stack, shown: Sequence[str], top: float, width: float) -> None:
    drawing.text(0, top + 16, one.name, "strong")
    drawing.text(width, top + 16, one.whole, "muted", "end")
    x, scale = 0.0, width / sum(value for _, value in one.parts)
    for label, value in one.parts:
        part = value * scale
        drawing.add("rect", x=x, y=top + 23, width=part, height=_BAR, class_=_part(label))
        if part > 16:
            drawing.text(x + part / 2, top + 40, str(shown.index(label) + 1), "label strong", "middle")
        x += part


class FixBar(Struct, frozen=True):
    name: str
    voice: str
    is_yours: bool
    value: float
    text: str


def fix_bars(report: BusinessCase) -> list[FixBar]:
    """In dollars where all are known, else in tokens."""
    fixes = [fix for fix in report.fixes if fix.estimated.lost_tokens][:MOST_FIX_BARS]
    in_money = bool(fixes) and all(fix.estimated.saved_usd is not None for fix in fixes)
    made = []
    for number, fix in enumerate(fixes, 1):
        usd, tokens = fix.estimated.saved_usd, fix.estimated.lost_tokens or 0
        value, text = (
            (usd or 0.0, f"≈ {cash(usd or 0.0)}") if in_money else (float(tokens), f"≈ {count(tokens)} tokens")
        )
        made.append(FixBar(f"{number}  {fix.cause}", VOICES[fix.voice], fix.voice == "yours to change", value, text))
    return [bar for bar in made if bar.value > 0]


def fix_plot(bars: Sequence[FixBar], width: float) -> Drawing:
    """The dearest above, each as long as what it saves."""
    drawing = Drawing(width, _STEP * len(bars) + 4)
    highest = max(bar.value for bar in bars)
    for number, bar in enumerate(bars):
        top = _STEP * number
        drawing.text(0, top + 16, bar.name, "strong")
        words = bar.text if width < 2 * NARROW else f"{bar.text}, {bar.voice}"
        drawing.text(width, top + 16, words, "muted", "end")
        class_ = "computed" if bar.is_yours else "suspect"
        drawing.add("rect", x=0.0, y=top + 23, width=max(1.0, width * bar.value / highest), height=_BAR, class_=class_)
    return drawing


def turn_plot(turns: Sequence[TurnRate], width: float) -> Drawing:
    """The median hit rate by turn, 0 to 100 %, in a band of the middle half of the calls."""
    left, top, height = axis_room([100.0]), 26.0, 200.0
    box = (left, top, width - left - 14.0, height)
    bottom = top + height
    drawing = Drawing(width, bottom + 30)
    grid(drawing, [0.0, 25.0, 50.0, 75.0, 100.0], box, "%")
    first, last = turns[0].turn, turns[-1].last_turn
    pitch = (box[2] - 20) / max(1, last - first)

    def x_of(turn: float) -> float:
        return left + 10 + pitch * (turn - first)

    def y_of(share: float) -> float:
        return bottom - height * min(1.0, max(0.0, share))

    for turn in axis_numbers(first, last, int(box[2] / 44)):
        drawing.text(x_of(turn), bottom + 18, str(turn), "tick", "middle")
    drawing.text(left - 8, bottom + 18, "turn", "muted", "end")
    places = [(x_of((one.turn + one.last_turn) / 2), one) for one in turns]
    if any(one.low < one.high for one in turns):
        outline = [(x, y_of(one.high)) for x, one in places] + [(x, y_of(one.low)) for x, one in reversed(places)]
        drawing.add("path", d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in outline) + "z", class_="band-0")
    line = "L".join(f"{x:.1f} {y_of(one.median):.1f}" for x, one in places)
    drawing.add("path", d="M" + line, class_="curve-0")
    for x, one in places:
        drawing.add("circle", cx=x, cy=y_of(one.median), r=3.6, class_="mark-0")
    return drawing


def ttft_plot(found: ColdWarm, width: float) -> Drawing:
    """A bar to the median of each kind, a line on to its 95th percentile."""
    rows = [(name, one) for name, one in (("cold", found.cold), ("warm", found.warm)) if one is not None]
    scale = ticks(max(one.p95_ms for _, one in rows))
    height = 70.0 * len(rows)
    drawing = Drawing(width, height + 34)
    inner = width - 16
    for value in scale:
        x = inner * value / scale[-1]
        drawing.line(x, 8, x, height, "base" if value == 0 else "grid")
        anchor = "start" if value == 0 else "end" if value == scale[-1] else "middle"
        drawing.text(x, height + 18, f"{value:,.10g}{' ms' if value == scale[-1] else ''}", "tick", anchor)
    for number, (name, one) in enumerate(rows):
        _ttft_row(drawing, name, one, 70.0 * number, inner / scale[-1], width)
    return drawing


def _ttft_row(drawing: Drawing, name: str, one: Spread, top: float, scale: float, width: float) -> None:
    drawing.text(5, top + 22, name, "label strong")
    words = f"p50 {milliseconds(one.p50_ms)}, p95 {milliseconds(one.p95_ms)} ms, n = {count(one.calls)}"
    drawing.text(width, top + 22, words, "label muted", "end")
    class_ = "kept" if name == "warm" else "computed"
    y = top + 30
    drawing.add("rect", x=0.0, y=y, width=max(1.0, one.p50_ms * scale), height=_BAR, class_=class_)
    drawing.line(one.p50_ms * scale, y + _BAR / 2, one.p95_ms * scale, y + _BAR / 2, "notch")
    drawing.line(one.p95_ms * scale, y + 5, one.p95_ms * scale, y + _BAR - 5, "notch")


class PayBack(Struct, frozen=True, kw_only=True):
    """What calls with one prefix cost, in multiples of sending it once; `first` is where caching is no dearer."""

    name: str
    costs: tuple[float, ...]
    first: int | None


def pay_backs(found: Sequence[BreakEven]) -> list[PayBack]:
    """Of one model, the first: sent fresh each time, and with each lifetime."""
    if not found:
        return []
    calls = range(MOST_CALLS_DRAWN)
    made = [PayBack(name="sent fresh", costs=tuple(float(number + 1) for number in calls), first=None)]
    for one in (one for one in found if one.model == found[0].model):
        costs = tuple(one.write_x + number * one.read_x for number in calls)
        name = "one-hour write" if one.lifetime == "1h" else "usual write"
        made.append(PayBack(name=name, costs=costs, first=one.calls))
    return made


def pay_back_plot(found: Sequence[PayBack], width: float) -> Drawing:
    """Cost over calls. A ring where a write has paid for itself."""
    narrow = width < 2 * NARROW
    scale = ticks(max(one.costs[-1] for one in found))
    left, top, right, height = axis_room(scale), 26.0, 14.0 if narrow else 236.0, 190.0
    box = (left, top, width - left - right, height)
    bottom = top + height
    drawing = Drawing(width, bottom + 30 + (18 * len(found) + 10 if narrow else 0))
    grid(drawing, scale, box, "times the price of sending the prefix once")
    pitch = (box[2] - 20) / (MOST_CALLS_DRAWN - 1)

    def place(number: int, cost: float) -> tuple[float, float]:
        return left + 10 + pitch * number, bottom - height * cost / scale[-1]

    for number in range(MOST_CALLS_DRAWN):
        drawing.text(place(number, 0)[0], bottom + 18, str(number + 1), "tick", "middle")
    drawing.text(left - 8, bottom + 18, "call", "muted", "end")
    for order, one in enumerate(found):
        points = [place(number, cost) for number, cost in enumerate(one.costs)]
        drawing.add("path", d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points), class_=f"line-{order}")
        if one.first is not None and one.first <= MOST_CALLS_DRAWN:
            x, y = points[one.first - 1]
            drawing.add("circle", cx=x, cy=y, r=6.0, class_="ring")
    ends = [place(0, one.costs[-1])[1] for one in found]
    for order, (one, y) in enumerate(zip(found, label_heights(ends, bottom, narrow=narrow), strict=True)):
        x = left if narrow else left + box[2] + 8
        pays = "" if one.first is None else f": pays from call {one.first}"
        drawing.line(x, y - 4, x + 18, y - 4, f"line-{order}")
        drawing.text(x + 24, y, one.name + pays, "label strong")
    return drawing
