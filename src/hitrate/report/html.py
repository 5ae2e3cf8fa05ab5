"""One self-contained page: opens offline, asks the network for nothing, light and dark, wide and narrow.

A page holds any number of results, each with its plots, its numbers and how it was measured, and sections in plain
words around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

import jinja2
from markupsafe import Markup
from msgspec import Struct

from hitrate import __version__
from hitrate.core.comparison import Comparison
from hitrate.core.results import BenchResult, BenchRow, TestResult
from hitrate.errors import UsageError
from hitrate.report import series, svg, words
from hitrate.report.columns import Sheet, count, milliseconds, percent, sheets, times
from hitrate.report.escape import escape_line

Result = TestResult | BenchResult | Comparison

NO_GAIN = 1.1
"""Below this the first token cannot be said to come sooner."""


class Section(Struct, frozen=True, kw_only=True):
    """Plain words. With `result` (a position in the page's results) it is that result's heading and introduction,
    otherwise a section of its own behind the results. `commands` are shown as they are to be typed."""

    title: str
    text: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    result: int | None = None


class Figure(Struct, frozen=True, kw_only=True):
    """`key` are the signs used in the plot: (class, sign, meaning)."""

    title: str
    plot: Markup
    caption: str = ""
    key: tuple[tuple[str, str, str], ...] = ()


class Block(Struct, frozen=True, kw_only=True):
    """What the template lays out for one result or section."""

    title: str
    text: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    verdict: str = ""
    verdict_word: str = ""
    figures: tuple[Figure, ...] = ()
    sheets: tuple[Sheet, ...] = ()
    facts: tuple[words.Line, ...] = ()
    heading: str = ""


class Headline(Struct, frozen=True):
    figure: str
    words: str
    detail: str


def render(
    results: Sequence[Result],
    out: TextIO,
    *,
    title: str | None = None,
    intro: str | None = None,
    sections: Sequence[Section] = (),
) -> None:
    """Write the page. UsageError for a value that has no page of its own (a list of runs or models)."""
    for result in results:
        if not isinstance(result, (TestResult, BenchResult, Comparison)):
            raise UsageError("this list has no HTML page: use --json, --csv or --markdown")
    leads = {section.result: section for section in sections if section.result is not None}
    page = _environment().get_template("page.html.j2")
    document = page.render(
        title=title or _title(results),
        intro=intro,
        headline=headline(results),
        blocks=[_block(result, number, leads.get(number)) for number, result in enumerate(results)],
        sections=[section for section in sections if section.result is None],
        version=__version__,
    )
    # Lone surrogates cannot be written as UTF-8; everything else hidden was escaped where it was filled in.
    out.write(document.encode("utf-8", "replace").decode())


def _title(results: Sequence[Result]) -> str:
    kinds = " and ".join(dict.fromkeys("comparison" if r.kind == "compare" else r.kind for r in results))
    targets: list[str] = []
    for result in results:
        targets += [result.a.target, result.b.target] if isinstance(result, Comparison) else [result.target]
    return f"{kinds.capitalize()} of {' and '.join(dict.fromkeys(targets))}" if results else "hitrate"


def headline(results: Sequence[Result]) -> Headline | None:
    """The one figure the page is about: the speed-up of the first bench, else the hit rate of the first test."""
    for result in results:
        if isinstance(result, BenchResult):
            for row in result.rows:
                if row.order == svg.STABLE_FIRST and row.speedup_x is not None:
                    return _speedup(row)
    for result in results:
        if isinstance(result, TestResult) and result.aggregate.hit_rate is not None:
            sums = result.aggregate
            return Headline(
                f"{percent(sums.hit_rate or 0.0)} %",
                "of all prompt tokens came from cache",
                f"{count(sums.cached_tokens or 0)} of {count(sums.prompt_tokens or 0)} in {count(sums.calls)} calls",
            )
    return None


def _speedup(row: BenchRow) -> Headline:
    warm = sum(call.role == "warm" for call in row.calls)
    detail = (
        f"{milliseconds(row.first_ms or 0.0)} ms for the first call, "
        f"{milliseconds(row.rest_p50_ms or 0.0)} ms after it (median of {count(warm)} calls)"
    )
    gain = "sooner to the first token when the prefix is kept"
    return Headline(
        f"{times(row.speedup_x or 0.0)}×",
        gain
        if (row.speedup_x or 0.0) >= NO_GAIN
        else "to the first token: keeping the prefix first gained nothing here",
        detail,
    )


def _block(result: Result, number: int, lead: Section | None) -> Block:
    lines = words.lines(result)
    title, text = _own_words(result)
    verdict = next((line.text for line in lines if line.kind == "verdict"), "")
    return Block(
        title=lead.title if lead else title,
        text=lead.text if lead else text,
        commands=lead.commands if lead else (),
        verdict=verdict,
        verdict_word=_verdict_word(result, verdict),
        figures=tuple(_figures(result, f"figure-{number}")),
        sheets=tuple(sheets(result)),
        facts=tuple(line for line in lines if line.text != verdict),
        heading=words.title(result),
    )


def _own_words(result: Result) -> tuple[str, tuple[str, ...]]:
    if isinstance(result, BenchResult):
        return "Time to first token, cold and warm", (
            "One long opening, different questions. Where the opening comes first, the server can keep its state and "
            "computes the question alone. Where something that changes stands above it, all of it is computed again.",
        )
    if isinstance(result, Comparison):
        return "The same conversation on both", ("Hit rates call by call, and what explains each gap.",)
    turns = max((row.turn for row in result.turns), default=0)
    sessions = len({row.session for row in result.turns if row.run.startswith("parallel")})
    at_once = f", {count(sessions)} sessions at once" if sessions > 1 else ""
    return f"Hit rate over {count(turns)} turns{at_once}", (
        "Each turn sends the whole conversation so far again and adds a question. What was sent before can come from "
        "cache, only what is new has to be computed.",
    )


def _verdict_word(result: Result, verdict: str) -> str:
    """The verdict in one word, unless its text begins with that word."""
    word = ""
    if isinstance(result, TestResult):
        word = {True: "healthy", False: "not healthy", None: "cannot tell"}[result.verdict.healthy]
    elif isinstance(result, Comparison):
        word = result.reason
    return "" if verdict.lower().startswith(word) else word


def _figures(result: Result, identity: str) -> list[Figure]:
    made = []
    if isinstance(result, BenchResult):
        for shape in dict.fromkeys(row.shape for row in result.rows):
            calls = [series.ttft_per_call(row) for row in result.rows if row.shape == shape and row.calls]
            if any(one.marks for one in calls):
                made.append(_ttft_figure(calls, f"{identity}-{shape}"))
    elif isinstance(result, TestResult):
        rates = series.hit_rate_per_turn(result)
        if rates:
            made.append(_hit_rate_figure(rates, f"{identity}-rate"))
        tokens = series.tokens_per_turn(result)
        if tokens:
            made.append(_token_figure(tokens, f"{identity}-tokens"))
    return made


def _ttft_figure(calls: list[series.CallSeries], identity: str) -> Figure:
    told = "; ".join(
        f"{one.order}: call 1 {_ms(one.first_ms)}, median of the rest {_ms(one.rest_p50_ms)}" for one in calls
    )
    title = "Time to first token, call by call"
    plot = svg.both_widths(lambda width: svg.ttft_plot(calls, width), title, told, identity)
    shape = f", shape {calls[0].shape}" if calls[0].shape != "opening" else ""
    return Figure(title=title + shape, plot=plot, key=_mark_key(calls))


def _mark_key(calls: list[series.CallSeries]) -> tuple[tuple[str, str, str], ...]:
    kinds = {mark.kept for one in calls for mark in one.marks}
    between = any(mark.place % 1 for one in calls for mark in one.marks)
    signs = (
        (True, "kept", "●", "prefix from cache"),
        (False, "computed", "◆", "computed anew" + (", between two calls: cold on purpose" if between else "")),
        (None, "unknown", "○", "not reported"),
    )
    return tuple((name, sign, meaning) for kind, name, sign, meaning in signs if kind in kinds)


def _hit_rate_figure(rates: list[series.TurnSeries], identity: str) -> Figure:
    told = "; ".join(
        f"{one.name}: " + ", ".join(f"turn {point.turn} {percent(point.rate)} %" for point in one.points[:20])
        for one in rates
    )
    title = "Share of the prompt that came from cache, turn by turn"
    plot = svg.both_widths(lambda width: svg.hit_rate_plot(rates, width), title, told, identity)
    parts = []
    if any(point.low < point.high for one in rates for point in one.points):
        parts.append("line: all sessions together; band: from the lowest to the highest session")
    if any(len(one.pieces()) > 1 for one in rates):
        parts.append("a gap in a line: not reported")
    return Figure(title=title, plot=plot, caption="; ".join(parts))


def _token_figure(tokens: series.TokenSeries, identity: str) -> Figure:
    told = ", ".join(
        f"turn {bar.turn}: {count(bar.prompt_tokens)} tokens, "
        + ("cached not reported" if bar.cached_tokens is None else f"{count(bar.cached_tokens)} from cache")
        for bar in tokens.bars[:20]
    )
    title = "Prompt tokens, from cache and computed"
    plot = svg.both_widths(lambda width: svg.token_plot(tokens, width), title, told, identity)
    return Figure(title=title, plot=plot, caption=tokens.name)


def _ms(value: float | None) -> str:
    return "not known" if value is None else f"{milliseconds(value)} ms"


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hitrate.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        # `finalize` sees every value that is filled in: what cannot be seen becomes visible before it is escaped.
        finalize=lambda value: (
            escape_line(value) if isinstance(value, str) and not isinstance(value, Markup) else value
        ),
    )
    environment.filters["paragraph"] = lambda text: " ".join(text.split())
    return environment
