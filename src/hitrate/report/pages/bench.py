"""The page of a bench: time to first token, call by call."""

from __future__ import annotations

from hitrate.core.results import BenchResult, BenchRow
from hitrate.report import series, svg
from hitrate.report.columns import count, milliseconds, times
from hitrate.report.pages.parts import Figure, Headline

NO_GAIN = 1.1
"""Below this the first token cannot be said to come sooner."""


def subject(result: BenchResult) -> tuple[str, list[str]]:
    return "bench", [result.target]


def own_words(result: BenchResult) -> tuple[str, tuple[str, ...]]:
    return "Time to first token, cold and warm", (
        "One long opening, different questions. Where the opening comes first, the server can keep its state and "
        "computes the question alone. Where something that changes stands above it, all of it is computed again.",
    )


def verdict_word(result: BenchResult) -> str:
    return ""


def headline(result: BenchResult) -> Headline | None:
    for row in result.rows:
        if row.order == svg.STABLE_FIRST and row.speedup_x is not None:
            return _speedup(row)
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


def figures(result: BenchResult, identity: str) -> list[Figure]:
    made = []
    for shape in dict.fromkeys(row.shape for row in result.rows):
        calls = [series.ttft_per_call(row) for row in result.rows if row.shape == shape and row.calls]
        if any(one.marks for one in calls):
            made.append(_ttft_figure(calls, f"{identity}-{shape}"))
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


def _ms(value: float | None) -> str:
    return "not known" if value is None else f"{milliseconds(value)} ms"
