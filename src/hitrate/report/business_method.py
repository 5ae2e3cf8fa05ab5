"""How the figures of a business case are known, in plain words: definitions, method, and how far to trust them."""

from __future__ import annotations

from collections.abc import Iterator

from hitrate.core.business_case import COLD_SHARE, WARM_SHARE, BusinessCase, ColdWarm, Prediction, Spread
from hitrate.report.business_words import calls_of, duration, when
from hitrate.report.columns import count, milliseconds, times
from hitrate.report.kinds.cost import break_even
from hitrate.report.words import Line, record_lines


def lines(report: BusinessCase) -> list[Line]:
    return list(_lines(report))


def _lines(report: BusinessCase) -> Iterator[Line]:
    yield Line(
        "measurement",
        "Hit rate: cached / prompt tokens as reported, added up over the calls that report both; all input tokens "
        "count, whatever the vendor's accounting.",
    )
    yield Line(
        "measurement",
        "Measured: token counts as reported, multiplied by the prices listed here. A discount of your contract is in "
        "no figure unless you give the price.",
    )
    if report.fixes:
        yield Line(
            "measurement",
            "Estimated (≈): prompts compared as they were sent; a loss is what was sent before and not served, at the "
            "price paid less the price of cached tokens. Losses found add up, and nothing counts as lost without a "
            "cause. They hold for this log: another mix of traffic loses other amounts.",
        )
    yield from _prediction(report)
    if report.rule_set:
        yield Line("expectation", f"Cache rules: {report.rule_set}.")
    if report.not_reported:
        which = f"{count(report.not_reported)} of {calls_of(report.calls)}"
        yield Line("warning", f"{which} do not report cached tokens: unknown, not 0, and in no hit rate.")
    for unpriced in report.unpriced:
        name = f" of {unpriced.model}" if unpriced.model else ""
        which = f"{count(unpriced.calls)} of {calls_of(report.calls)}{name}"
        yield Line("warning", f"{which} are unpriced and in no amount: {unpriced.reason}")
    yield from (Line("warning", text) for text in report.warnings)
    yield from (Line("note", text) for text in report.notes)
    span = "" if report.span is None else f", {when(report.span)} ({duration(report.span)})"
    sessions = f" in {count(report.sessions)} conversation{'' if report.sessions == 1 else 's'}"
    read = calls_of(report.calls) + (sessions if report.sessions else "")
    yield Line("measurement", f"{report.log}, read as {report.format}: {read}{span}")
    yield from record_lines(report.log, report.records)


def _prediction(report: BusinessCase) -> Iterator[Line]:
    found = report.prediction
    if found is None:
        if report.no_prediction:
            yield Line("note", f"Nothing is predicted: {report.no_prediction}.")
        return
    yield Line(
        "measurement",
        "Predicted: the requests were rewritten as the fix would send them, and both forms replayed on the cache rule "
        f"({found.rule_set or 'longest common prefix'}); {count(found.replayed)} of {calls_of(found.calls)} could be. "
        f"{_trust(found)}",
    )
    yield from (Line("note", f"prediction: {text}") for text in found.notes)


def _trust(found: Prediction) -> str:
    if found.error is None:
        return "The log reports no cached tokens, so the prediction cannot be held against a measurement."
    if abs(found.error) < 0.0005:
        return "For the log as sent the rule predicts the measured rate."
    away = f"{abs(100 * found.error):.1f} points {'more' if found.error > 0 else 'less'}"
    return f"For the log as sent the rule predicts {away} than measured: trust the difference more than the level."


def ttft_lines(found: ColdWarm) -> Iterator[Line]:
    between = f"; {calls_of(found.between)} between are left out" if found.between else ""
    yield Line(
        "measurement",
        f"cold: less than {100 * COLD_SHARE:.0f} % of the prompt from cache; warm: at least {100 * WARM_SHARE:.0f} %"
        f"{between}",
    )
    if found.speedup_p50_x is not None and found.speedup_p95_x is not None:
        spread = ""
        if found.speedup is not None:
            spread = f" (95 % {times(found.speedup.low)} to {times(found.speedup.high)}, n = {count(found.speedup.n)})"
        yield Line(
            "aggregate",
            f"first token {times(found.speedup_p50_x)}x sooner at the median{spread}, "
            f"{times(found.speedup_p95_x)}x at p95",
        )
    few = [name for name, one in (("cold", found.cold), ("warm", found.warm)) if one is not None and one.calls < _FEW]
    if few:
        yield Line("note", f"fewer than {_FEW} {' and '.join(few)} calls: their p95 is little more than the slowest")
    if found.cold is None or found.warm is None:
        missing = "cold" if found.cold is None else "warm"
        yield Line("note", f"no {missing} call with a time to first token: there is nothing to compare")
    elif _unlike(found.cold, found.warm):
        yield Line(
            "note",
            "cold and warm calls differ in the length of their prompts, and so the ratio is not of the cache alone",
        )
    yield Line("note", "calls of a conversation depend on each other, so the interval is at best this narrow")


_FEW = 20


def _unlike(cold: Spread, warm: Spread) -> bool:
    if not cold.prompt_tokens_p50 or not warm.prompt_tokens_p50:
        return False
    return not 0.5 <= cold.prompt_tokens_p50 / warm.prompt_tokens_p50 <= 2.0


def spread(one: Spread) -> str:
    return f"p50 {milliseconds(one.p50_ms)} ms, p95 {milliseconds(one.p95_ms)} ms, n = {count(one.calls)}"


def lifetime_lines(report: BusinessCase) -> Iterator[Line]:
    yield from (Line("note", break_even(found)) for found in report.break_even)
    if report.gaps is not None:
        yield Line(
            "note",
            f"pauses in this log: {count(report.gaps.within_5m)} of up to 5 min, {count(report.gaps.within_1h)} of up "
            f"to 1 h, {count(report.gaps.longer)} longer",
        )
    if report.lifetimes:
        yield Line(
            "measurement",
            "estimated: input alone, over the pauses that there were, as if nothing else had been lost",
        )
