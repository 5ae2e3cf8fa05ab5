"""The page of a test: hit rate turn by turn, and the tokens of one conversation."""

from __future__ import annotations

from hitrate.core.results import TestResult
from hitrate.report import series, svg
from hitrate.report.columns import count, percent
from hitrate.report.pages.parts import Figure, Headline


def subject(result: TestResult) -> tuple[str, list[str]]:
    return "test", [result.target]


def own_words(result: TestResult) -> tuple[str, tuple[str, ...]]:
    turns = max((row.turn for row in result.turns), default=0)
    sessions = len({row.session for row in result.turns if row.run.startswith("parallel")})
    at_once = f", {count(sessions)} sessions at once" if sessions > 1 else ""
    return f"Hit rate over {count(turns)} turns{at_once}", (
        "Each turn sends the whole conversation so far again and adds a question. What was sent before can come from "
        "cache, only what is new has to be computed.",
    )


def verdict_word(result: TestResult) -> str:
    return {True: "healthy", False: "not healthy", None: "cannot tell"}[result.verdict.healthy]


def headline(result: TestResult) -> Headline | None:
    sums = result.aggregate
    if sums.hit_rate is None:
        return None
    return Headline(
        f"{percent(sums.hit_rate)} %",
        "of all prompt tokens came from cache",
        f"{count(sums.cached_tokens or 0)} of {count(sums.prompt_tokens or 0)} in {count(sums.calls)} calls",
    )


def figures(result: TestResult, identity: str) -> list[Figure]:
    made = []
    rates = series.hit_rate_per_turn(result)
    if rates:
        made.append(_hit_rate_figure(rates, f"{identity}-rate"))
    tokens = series.tokens_per_turn(result)
    if tokens:
        made.append(_token_figure(tokens, f"{identity}-tokens"))
    return made


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
