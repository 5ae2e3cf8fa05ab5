"""`report`: what was spent, what of it was avoidable, what to fix first and what that saves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from hitrate.core.business_case import BusinessCase, Spread, TurnRate
from hitrate.report import business_method as method
from hitrate.report import business_words as words
from hitrate.report.columns import Column, Sheet, count, milliseconds, number, percent
from hitrate.report.kinds.cost import PRICES
from hitrate.report.kinds.explain import WATERFALL, stretches
from hitrate.report.kinds.whatif import LIFETIMES
from hitrate.report.words import Line, Passage

TYPE = BusinessCase


class _Row(Struct, frozen=True, kw_only=True):
    """What the log is, or would be."""

    name: str
    basis: str
    hit_rate: float | None
    usd: float | None
    saved_usd: float | None = None
    per_1000_usd: float | None = None
    month_usd: float | None = None


def _estimated(row: _Row) -> bool:
    return row.basis != "measured"


OUTCOMES = (
    Column(key="name", header="the log"),
    Column(key="basis", header="how\nknown"),
    Column(key="hit_rate", header="hit\nrate %", show=percent, estimated=_estimated),
    Column(key="usd", header="bill\n$", show=words.money, estimated=_estimated),
    Column(key="saved_usd", header="saved\n$", show=words.money, estimated=_estimated),
    Column(key="per_1000_usd", header="per 1,000\ncalls $", show=words.money, estimated=_estimated, drop_order=2),
    Column(key="month_usd", header="per\nmonth $", show=words.money, estimated=lambda row: True, drop_order=1),
)


def _with_fix(key: str, name: str, header: str, show: Callable[[Any], str], part: str = "estimated") -> Column:
    """A figure of the log with one fix. Estimates are the first to leave a narrow screen, but for what is saved."""
    return Column(
        key=key,
        header=header,
        show=show,
        get=lambda fix: getattr(getattr(fix, part), name, None),
        predicted=True,
        drop_order=1 if key.endswith("after") else 0,
    )


FIXES = (
    Column(key="cause", header="cause"),
    Column(key="voice", header="whose", get=lambda fix: words.VOICES[fix.voice]),
    Column(key="confidence", header="how\nsure", drop_order=2),
    Column(key="calls", header="calls\nn", show=count, drop_order=3),
    _with_fix("lost_tokens", "lost_tokens", "lost\ntokens", count),
    _with_fix("saved_usd", "saved_usd", "saved\n$", words.money),
    _with_fix("hit_rate_after", "hit_rate", "hit rate\nafter %", percent),
    _with_fix("usd_after", "usd", "bill\nafter $", words.money),
)

FIXES_PREDICTED = (
    _with_fix("predicted_hit_rate", "hit_rate", "predicted\nhit rate %", percent, "predicted"),
    _with_fix("predicted_saved_usd", "saved_usd", "predicted\nsaved $", words.money, "predicted"),
)

TURNS = (
    Column(key="turn", header="turn", get=lambda row: row, show=lambda row: turn_name(row)),
    Column(key="calls", header="calls\nn", show=count),
    Column(key="conversations", header="conversations\nn", show=count),
    Column(key="median", header="median\nhit rate %", show=percent),
    Column(key="low", header="lower\nquarter %", show=percent),
    Column(key="high", header="upper\nquarter %", show=percent),
)

TIMES = (
    Column(key="name", header="calls", get=lambda row: row[0]),
    Column(key="calls", header="n", show=count, get=lambda row: row[1].calls),
    Column(key="p50_ms", header="TTFT\np50 ms", show=milliseconds, get=lambda row: row[1].p50_ms),
    Column(key="p95_ms", header="TTFT\np95 ms", show=milliseconds, get=lambda row: row[1].p95_ms),
    Column(
        key="prompt_tokens_p50",
        header="prompt\ntokens p50",
        show=lambda value: count(round(value)),
        get=lambda row: row[1].prompt_tokens_p50,
    ),
)


def turn_name(row: TurnRate) -> str:
    return number(row.turn) if row.turn == row.last_turn else f"{row.turn}–{row.last_turn}"


def title(report: BusinessCase) -> str:
    return f"{words.subject(report)}: {words.outcome(report)}"


def passages(report: BusinessCase) -> list[Passage]:
    short = tuple(Line("summary", f"{point.name}: {point.text}") for point in words.summary(report))
    return [Passage("in short", short), *words.fix_passages(report), *words.remark_passages(report)]


def sheets(report: BusinessCase) -> list[Sheet]:
    return [
        *outcome_sheets(report),
        *fix_sheets(report),
        *waterfall_sheets(report),
        *turn_sheets(report),
        *ttft_sheets(report),
        *lifetime_sheets(report),
        *price_sheets(report),
    ]


def outcome_sheets(report: BusinessCase) -> list[Sheet]:
    rows = tuple(row for row in _outcomes(report) if row.hit_rate is not None or row.usd is not None)
    columns = tuple(one for one in OUTCOMES if one.key != "month_usd" or report.per_month is not None)
    return [Sheet(title="before and after", columns=columns, rows=rows)] if rows else []


def _outcomes(report: BusinessCase) -> Iterator[_Row]:
    now, mean, month = report.now, report.per_1000_calls, report.per_month
    priced = mean.priced_calls

    def row(name: str, basis: str, hit_rate: float | None, usd: float | None, saved: float | None) -> _Row:
        each = None if usd is None or not priced else 1000 * usd / priced
        monthly = None if each is None or month is None else each * month.calls / 1000
        return _Row(
            name=name, basis=basis, hit_rate=hit_rate, usd=usd, saved_usd=saved, per_1000_usd=each, month_usd=monthly
        )

    if now.cached_tokens is not None:
        yield row("without caching", "measured", None, now.usd_without_caching, None)
    saved = now.usd_saved if now.cached_tokens is not None else None
    yield row("as it was", "measured", now.hit_rate, now.usd, saved)
    if words.has_both(report):
        yours = report.yours
        yield row(words.YOURS_MENDED, "estimated", yours.hit_rate, yours.usd, yours.saved_usd)
    if report.reachable.lost_tokens:
        reachable = report.reachable
        yield row(words.all_mended(report), "estimated", reachable.hit_rate, reachable.usd, reachable.saved_usd)
    together = None if report.prediction is None else report.prediction.together
    if together is not None:
        yield _Row(
            name="as sent, by the rule", basis="predicted", hit_rate=together.hit_rate_as_sent, usd=together.usd_as_sent
        )
        name = "with all rewrites" if together.rewrite == "all" else f"with {together.rewrite}"
        yield _Row(
            name=f"{name}, by the rule",
            basis="predicted",
            hit_rate=together.hit_rate,
            usd=together.usd,
            saved_usd=together.saved_usd,
        )


def fix_sheets(report: BusinessCase) -> list[Sheet]:
    if not report.fixes:
        return []
    notes = ("after: with this fix alone; figures behind the line are estimated, unless they are called predicted",)
    shown = report.fixes[: words.MOST_FIXES_SHOWN]
    columns = FIXES if report.prediction is None else (*FIXES, *FIXES_PREDICTED)
    return [Sheet(title="fixes, in order of money", columns=columns, rows=shown, notes=notes)]


def waterfall_sheets(report: BusinessCase) -> list[Sheet]:
    if not report.waterfall.prompt_tokens:
        return []
    return [Sheet(title="where the prompt tokens went", columns=WATERFALL, rows=stretches(report.waterfall))]


def turn_sheets(report: BusinessCase) -> list[Sheet]:
    return [Sheet(title="hit rate by turn", columns=TURNS, rows=report.turns)] if report.turns else []


def ttft_sheets(report: BusinessCase) -> list[Sheet]:
    found = report.ttft
    if found is None:
        return []
    rows: list[tuple[str, Spread]] = [
        (name, one) for name, one in (("cold", found.cold), ("warm", found.warm)) if one is not None
    ]
    notes = tuple(line.text for line in method.ttft_lines(found))
    return [Sheet(title="time to first token, cold and warm", columns=TIMES, rows=tuple(rows), notes=notes)]


def lifetime_sheets(report: BusinessCase) -> list[Sheet]:
    if not report.break_even:
        return []
    notes = tuple(line.text for line in method.lifetime_lines(report))
    return [
        Sheet(
            title="keeping entries alive over this log's pauses", columns=LIFETIMES, rows=report.lifetimes, notes=notes
        )
    ]


def price_sheets(report: BusinessCase) -> list[Sheet]:
    if not report.prices:
        return []
    columns = (*PRICES, Column(key="since", header="since", unknown=lambda row: "not said"))
    notes = dict.fromkeys(f"{price.model}: {price.note}" for price in report.prices if price.note)
    return [Sheet(title="prices", columns=columns, rows=report.prices, notes=tuple(notes))]


def lines(report: BusinessCase) -> list[Line]:
    return method.lines(report)


def _of(part: str, name: str, key: str = "") -> Column:
    """A member of a part of a fix, which may be missing."""
    return Column(key=key or name, header=key or name, get=lambda fix: getattr(getattr(fix, part), name, None))


RECORDS = (
    *(Column(key=key, header=key) for key in ("cause", "verdict", "voice", "confidence", "findings", "conversations")),
    Column(key="calls", header="calls"),
    Column(key="pointers", header="pointers", get=lambda fix: " ".join(fix.pointers) or None),
    *(_of("estimated", name, f"estimated_{name}") for name in ("lost_tokens", "saved_usd", "hit_rate", "usd")),
    *(_of("predicted", name, f"predicted_{name}") for name in ("rewrite", "hit_rate", "usd", "saved_usd")),
    *(_of("example", name) for name in ("call", "against", "pointer", "offset", "was", "now", "summary", "advice")),
)


def records(report: BusinessCase) -> Sheet:
    return Sheet(columns=RECORDS, rows=report.fixes)
