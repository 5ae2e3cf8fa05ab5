"""`whatif`: a log's hit rate and bill with each fix, predicted by one rule, beside what was measured."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from hitrate.core.whatif_results import CallOutcome, Scenario, WhatIfReport
from hitrate.report.columns import Column, Sheet, amount, count, percent, points
from hitrate.report.words import Line

TYPE = WhatIfReport


class _Row(Struct, frozen=True):
    """A scenario, or what was measured, for people."""

    name: str
    changed_calls: int | None
    prompt_tokens: int
    cached_tokens: int
    written_tokens: int | None
    hit_rate: float | None
    gained: float | None
    usd: float | None
    saved_usd: float | None
    is_measured: bool = False


def _predicted(row: _Row) -> bool:
    return not row.is_measured


SCENARIOS = (
    Column(key="name", header="requests"),
    Column(key="changed_calls", header="changed\ncalls", show=count, drop_order=3),
    Column(key="prompt_tokens", header="prompt\ntokens", show=count, estimated=_predicted, drop_order=1),
    Column(key="cached_tokens", header="cached\ntokens", show=count, estimated=_predicted),
    Column(key="written_tokens", header="written\ntokens", show=count, estimated=_predicted, drop_order=2),
    Column(key="hit_rate", header="hit\nrate %", show=percent, estimated=_predicted),
    Column(key="gained", header="gained\npoints", show=points, estimated=_predicted),
    Column(key="usd", header="bill\n$", show=amount, estimated=_predicted),
    Column(key="saved_usd", header="saved\n$", show=amount, estimated=_predicted),
)

LIFETIMES = (
    Column(key="name", header="lifetime"),
    Column(key="input_tokens_worth", header="input, in\nfresh tokens", show=count, predicted=True),
    Column(key="usd", header="input\n$", show=amount, predicted=True),
    Column(key="rewrites", header="written\nagain", show=count, predicted=True),
    Column(key="pings", header="pings", show=count, predicted=True),
)

CALLS = tuple(Column(key=name, header=name) for name in CallOutcome.__struct_fields__)


def title(report: WhatIfReport) -> str:
    if not report.scenarios:
        return f"whatif · {report.log} · lifetimes only"
    first, best = report.scenarios[0], best_scenario(report)
    if best is None or not best.gained:
        return f"whatif · {report.log} · no fix changes the predicted hit rate of {_rate(first.hit_rate)}"
    return (
        f"whatif · {report.log} · {best.name}: predicted hit rate {_rate(first.hit_rate)} → {_rate(best.hit_rate)}"
        + ("" if best.saved_usd is None else f", ${amount(best.saved_usd)} saved")
    )


def best_scenario(report: WhatIfReport) -> Scenario | None:
    known = [one for one in report.scenarios[1:] if one.gained is not None]
    return max(known, key=lambda one: (one.hit_rate or 0.0, -known.index(one)), default=None)


def _rate(rate: float | None) -> str:
    return "not known" if rate is None else f"{percent(rate)} %"


def sheets(report: WhatIfReport) -> list[Sheet]:
    made = []
    if report.scenarios:
        made.append(Sheet(columns=SCENARIOS, rows=tuple(_rows(report))))
    if report.lifetimes:
        made.append(
            Sheet(title="keeping entries alive over this log's pauses", columns=LIFETIMES, rows=report.lifetimes)
        )
    return made


def _rows(report: WhatIfReport) -> Iterator[_Row]:
    measured = report.measured
    if measured.calls:
        yield _Row(
            "measured",
            None,
            measured.prompt_tokens,
            measured.cached_tokens,
            None,
            measured.hit_rate,
            None,
            measured.usd,
            None,
            is_measured=True,
        )
    for one in report.scenarios:
        yield _Row(
            one.name,
            one.changed_calls,
            one.prompt_tokens,
            one.cached_tokens,
            one.written_tokens,
            one.hit_rate,
            one.gained,
            one.usd,
            one.saved_usd,
        )


def records(report: WhatIfReport) -> Sheet:
    return Sheet(columns=CALLS, rows=report.by_call)


def lines(report: WhatIfReport) -> list[Line]:
    return list(_lines(report))


def _lines(report: WhatIfReport) -> Iterator[Line]:
    for one in report.scenarios[1:]:
        yield Line("note", f"{one.name}: {one.note or one.what}")
    if report.scenarios:
        yield Line("measurement", agreement(report))
        yield Line("measurement", "≈ predicted, in tokens estimated from the text and the prompt tokens reported")
    if report.rule_set:
        yield Line("expectation", f"predicted by {report.rule_set}")
    if report.gaps is not None:
        found = report.gaps
        yield Line(
            "note",
            f"pauses between calls: {count(found.within_5m)} of up to 5 min, {count(found.within_1h)} of up to 1 h, "
            f"{count(found.longer)} longer",
        )
    yield from (Line("note", text) for text in report.notes)
    yield Line(
        "measurement",
        f"{report.log}, read as {report.format}: {count(report.replayed)} of {count(report.calls)} calls replayed, in "
        f"{count(report.conversations)} conversation{'' if report.conversations == 1 else 's'}",
    )


def agreement(report: WhatIfReport) -> str:
    """How far the prediction for the log as sent is from what was measured."""
    if report.prediction_error is None:
        return "the log reports no cached tokens: the prediction cannot be held against a measurement"
    off = report.prediction_error
    if abs(off) < 0.0005:
        return "the rule predicts the measured rate for the log as sent"
    away = f"{abs(100 * off):.1f} points {'more' if off > 0 else 'less'}"
    return f"for the log as sent the rule predicts {away} than measured"
