"""Plots as inline SVG, drawn at the width they are shown, so that text keeps its size on a phone.

Colours come from the page's style sheet (classes `kept`, `computed`, `unknown`); shape says the same as colour:
kept is a disc or a full bar, computed a diamond or a striped bar, not reported an empty ring.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup, escape

from hitrate.report.escape import escape_line
from hitrate.report.series import CallSeries, TokenSeries, TurnSeries, axis_numbers, ticks

WIDE, NARROW = 760, 340
"""Drawn widths in CSS pixels: a page column and a phone."""

_LINE = 18
"""Height of a line of text."""

STABLE_FIRST = "stable-first"

ORDER_WORDS = {
    STABLE_FIRST: ("Stable first", "opening, then the question"),
    "variable-first": ("Variable first", "time and question above the opening"),
}


class Drawing:
    """Collects elements; `x` and `y` grow to the right and down."""

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self._elements: list[Markup] = []

    def add(self, element: str, content: str | None = None, **attributes: object) -> None:
        """Attributes with a trailing or inner underscore are spelt with a hyphen (`class_`, `text_anchor`)."""
        written = Markup("").join(
            Markup(' {}="{}"').format(name.rstrip("_").replace("_", "-"), _short(value))
            for name, value in attributes.items()
        )
        if content is None:
            self._elements.append(Markup("<{}{}/>").format(Markup(element), written))
        else:
            text = escape(escape_line(content))
            self._elements.append(Markup("<{0}{1}>{2}</{0}>").format(Markup(element), written, text))

    def line(self, x1: float, y1: float, x2: float, y2: float, class_: str) -> None:
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)

    def text(self, x: float, y: float, content: str, class_: str = "", anchor: str = "start") -> None:
        self.add("text", content, x=x, y=y, class_=class_, text_anchor=anchor)

    def mark(self, x: float, y: float, kept: bool | None) -> None:
        if kept is False:
            self.add("path", d=f"M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5-5z", class_="computed")
        else:
            self.add("circle", cx=x, cy=y, r=4.2, class_="kept" if kept else "unknown")

    def svg(self, title: str, description: str, identity: str, class_: str) -> Markup:
        """`title` and `description` are the text alternative."""
        return Markup(
            '<svg class="{}" viewBox="0 0 {} {}" width="{}" height="{}" role="img" aria-labelledby="{}-t {}-d">'
            '<title id="{}-t">{}</title><desc id="{}-d">{}</desc>{}</svg>'
        ).format(
            class_,
            *(_short(size) for size in (self.width, self.height, self.width, self.height)),
            *(identity, identity, identity, escape_line(title), identity, escape_line(description)),
            Markup("").join(self._elements),
        )


def both_widths(draw: Callable[[float], Drawing], title: str, description: str, identity: str) -> Markup:
    """`draw(width)` at both widths; the style sheet shows the one that fits, and so does a screen reader."""
    return Markup("").join(
        draw(width).svg(title, description, f"{identity}-{name}", name)
        for name, width in (("wide", WIDE), ("narrow", NARROW))
    )


def ttft_plot(series: Sequence[CallSeries], width: float) -> Drawing:
    """TTFT of every call; the orders side by side on one scale, or one above the other where it is narrow."""
    side_by_side = width >= 2 * NARROW
    highest = max((mark.ttft_ms for one in series for mark in one.marks), default=1.0)
    scale = ticks(highest)
    left, gap, panel_height, top = axis_room(scale), 34.0, 220.0, 54.0
    step = panel_height + top + 34
    columns = len(series) if side_by_side else 1
    panel_width = (width - left - gap * (columns - 1) - 12) / columns
    drawing = Drawing(width, step * (1 if side_by_side else len(series)))
    for number, one in enumerate(series):
        x = left + (panel_width + gap) * number * side_by_side
        y = top + step * number * (not side_by_side)
        _ttft_panel(drawing, one, scale, (x, y, panel_width, panel_height), labelled=number == 0 or not side_by_side)
    return drawing


def _ttft_panel(
    drawing: Drawing,
    series: CallSeries,
    scale: Sequence[float],
    box: tuple[float, float, float, float],
    *,
    labelled: bool,
) -> None:
    left, top, width, height = box
    bottom = top + height
    name, detail = ORDER_WORDS.get(series.order, (series.order, series.shape))
    drawing.text(left, top - 34, name, "strong")
    drawing.text(left, top - 16, detail, "muted")
    grid(drawing, scale, box, "ms" if labelled else None)
    pitch = width / (series.calls + 0.5)

    def x_of(place: float) -> float:
        return left + pitch * (place - 0.5)

    def y_of(value: float) -> float:
        return bottom - height * value / scale[-1]

    for call in axis_numbers(1, series.calls, int(width / 24)):
        drawing.text(x_of(call), bottom + 18, str(call), "tick", "middle")
    drawing.text(left - 8, bottom + 18, "call", "muted", "end")
    for mark in series.marks:
        drawing.line(x_of(mark.place), bottom, x_of(mark.place), y_of(mark.ttft_ms), "stem")
    if series.rest_p50_ms is not None and series.calls > 2:
        y = y_of(series.rest_p50_ms)
        drawing.line(x_of(1.6), y, left + width, y, "median")
        label = f"median {_ms(series.rest_p50_ms)}"
        above = y - top > height * 0.25
        drawing.text(left + width, y - 14 if above else y + 24, label, "label strong", "end")
    for mark in series.marks:
        drawing.mark(x_of(mark.place), y_of(mark.ttft_ms), mark.kept)
    if series.first_ms is not None:
        drawing.text(x_of(1) + 9, y_of(series.first_ms) - 9, _ms(series.first_ms), "label strong")


def hit_rate_plot(series: Sequence[TurnSeries], width: float) -> Drawing:
    """Hit rate per turn, 0 to 100 %, a line a run, a band from the lowest to the highest session."""
    narrow = width < 2 * NARROW
    left, top, right, height = axis_room([100.0]), 26.0, 12.0 if narrow else 190.0, 210.0
    key_height = _LINE * len(series) + 8 if narrow else 0
    box = (left, top, width - left - right, height)
    drawing = Drawing(width, top + height + 30 + key_height)
    bottom = top + height
    grid(drawing, [0.0, 25.0, 50.0, 75.0, 100.0], box, "%")
    turns = [point.turn for one in series for point in one.points]
    first, last = min(turns), max(turns)
    pitch = (box[2] - 20) / max(1, last - first)

    def x_of(turn: int) -> float:
        return left + 10 + pitch * (turn - first)

    def y_of(rate: float) -> float:
        return bottom - height * min(1.0, max(0.0, rate))

    for turn in axis_numbers(first, last, int(box[2] / 24)):
        drawing.text(x_of(turn), bottom + 18, str(turn), "tick", "middle")
    drawing.text(left - 8, bottom + 18, "turn", "muted", "end")
    for number, one in enumerate(series):
        for piece in one.pieces():
            _band(drawing, [(x_of(p.turn), y_of(p.low), y_of(p.high)) for p in piece], f"band-{number % 2}")
    for number, one in enumerate(series):
        for piece in one.pieces():
            path = "M" + "L".join(f"{x_of(point.turn):.1f} {y_of(point.rate):.1f}" for point in piece)
            drawing.add("path", d=path, class_=f"curve-{number % 2}")
        for point in one.points:
            _run_mark(drawing, x_of(point.turn), y_of(point.rate), number, size=min(1.0, pitch / 22))
    ends = [y_of(one.points[-1].rate) for one in series]
    for number, (one, y) in enumerate(zip(series, label_heights(ends, bottom, narrow=narrow), strict=True)):
        x = left + (18 if narrow else box[2] + 10)
        if narrow:
            _run_mark(drawing, left + 4, y - 4, number)
        sessions = f", {one.sessions:,} sessions" if one.sessions > 1 else ""
        drawing.text(x, y, one.name + sessions, f"label strong run-{number % 2}")
    return drawing


def _run_mark(drawing: Drawing, x: float, y: float, number: int, *, size: float = 1.0) -> None:
    """A disc for the first run, a larger empty square for the second, so that both show where they coincide."""
    if number % 2:
        half = 5.5 * size
        drawing.add("rect", x=x - half, y=y - half, width=2 * half, height=2 * half, class_="mark-1")
    else:
        drawing.add("circle", cx=x, cy=y, r=3.8 * size, class_="mark-0")


def _band(drawing: Drawing, edges: list[tuple[float, float, float]], class_: str) -> None:
    if all(low == high for _, low, high in edges):
        return
    outline = [(x, high) for x, _, high in edges] + [(x, low) for x, low, _ in reversed(edges)]
    drawing.add("path", d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in outline) + "z", class_=class_)


def token_plot(series: TokenSeries, width: float) -> Drawing:
    """Prompt tokens of every turn as a bar: from cache below, computed on top, the rule's prediction as a notch."""
    narrow = width < 2 * NARROW
    scale = ticks(max(bar.prompt_tokens for bar in series.bars))
    left, top, right, height = axis_room(scale), 26.0, 12.0 if narrow else 190.0, 210.0
    box = (left, top, width - left - right, height)
    bottom = top + height
    drawing = Drawing(width, bottom + 30 + (_LINE * 4 + 8 if narrow else 0))
    grid(drawing, scale, box, "tokens")
    pitch = box[2] / len(series.bars)
    bar_width = min(44.0, pitch * 0.7)
    overhang = min(4.0, (pitch - bar_width) / 2)

    def y_of(tokens: float) -> float:
        return bottom - height * tokens / scale[-1]

    shown = set(axis_numbers(series.bars[0].turn, series.bars[-1].turn, int(box[2] / 24)))
    for number, bar in enumerate(series.bars):
        x = left + pitch * (number + 0.5) - bar_width / 2
        if bar.turn in shown:
            drawing.text(x + bar_width / 2, bottom + 18, str(bar.turn), "tick", "middle")
        full, kept = y_of(bar.prompt_tokens), y_of(min(bar.prompt_tokens, max(0, bar.cached_tokens or 0)))
        if bar.cached_tokens is None:
            drawing.add("rect", x=x, y=full, width=bar_width, height=bottom - full, class_="unknown")
        else:
            drawing.add("rect", x=x, y=full, width=bar_width, height=kept - full, class_="computed")
            drawing.add("rect", x=x, y=kept, width=bar_width, height=bottom - kept, class_="kept")
        if bar.expected_cached_tokens is not None:
            notch = y_of(min(bar.prompt_tokens, bar.expected_cached_tokens))
            drawing.line(x - overhang, notch, x + bar_width + overhang, notch, "notch")
    drawing.text(left - 8, bottom + 18, "turn", "muted", "end")
    _token_labels(drawing, series, box, y_of, narrow=narrow)
    return drawing


def _token_labels(
    drawing: Drawing,
    series: TokenSeries,
    box: tuple[float, float, float, float],
    y_of: Callable[[float], float],
    *,
    narrow: bool,
) -> None:
    """Words beside the last bar where there is room, otherwise a key below."""
    left, top, width, height = box
    last = series.bars[-1]
    cached = last.cached_tokens
    entries: list[tuple[str, str, float]] = []
    if cached is not None:
        entries.append(("computed", f"computed {last.prompt_tokens - cached:,}", (last.prompt_tokens + cached) / 2))
        entries.append(("kept", f"from cache {cached:,}", cached / 2))
    if any(bar.cached_tokens is None for bar in series.bars):
        entries.append(("unknown", "not reported", last.prompt_tokens / 4))
    if any(bar.expected_cached_tokens is not None for bar in series.bars):
        entries.append(("notch", "expected by the rule", last.expected_cached_tokens or 0))
    x = left if narrow else left + width + 10
    wanted = [y_of(tokens) for _, _, tokens in entries]
    for (kind, words, _), y in zip(entries, label_heights(wanted, top + height, narrow=narrow), strict=True):
        if kind == "notch":
            drawing.line(x, y - 4, x + 14, y - 4, "notch")
        else:
            drawing.add("rect", x=x, y=y - 10, width=12, height=12, class_=kind)
        drawing.text(x + 20, y, words, "label strong" if kind != "notch" else "label muted")


def grid(drawing: Drawing, scale: Sequence[float], box: tuple[float, float, float, float], unit: str | None) -> None:
    left, top, width, height = box
    for value in scale:
        y = top + height - height * value / scale[-1]
        drawing.line(left, y, left + width, y, "base" if value == 0 else "grid")
        if unit is not None:
            drawing.text(left - 8, y + 4, f"{value:,.10g}", "tick", "end")
    if unit is not None:
        drawing.text(0, top - 14, unit, "muted")


def axis_room(scale: Sequence[float]) -> float:
    """Room for the widest figure of a vertical axis."""
    return 14.0 + 7.6 * max(4, *(len(f"{value:,.10g}") for value in scale))


def label_heights(wanted: Sequence[float], bottom: float, *, narrow: bool) -> list[float]:
    """Base lines of labels: as near to the wanted heights as they go without touching, or a list below the plot."""
    if narrow:
        return [bottom + 48 + _LINE * number for number in range(len(wanted))]
    heights: dict[int, float] = {}
    lowest = bottom + 4 - _LINE * (len(wanted) - 1)
    previous = 0.0
    for number in sorted(range(len(wanted)), key=lambda number: wanted[number]):
        previous = heights[number] = max(min(wanted[number] + 4, lowest), previous + _LINE)
        lowest += _LINE
    return [heights[number] for number in range(len(wanted))]


def _ms(value: float) -> str:
    return f"{value:,.0f} ms" if value >= 100 else f"{value:,.1f} ms"


def _short(value: object) -> object:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value
