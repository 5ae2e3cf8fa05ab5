"""Whether the expectations of `hitrate check` hold for a log. What could not be checked has not passed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Literal

from msgspec import Struct

from hitrate.core.findings import ExplainReport, Finding
from hitrate.core.money import in_dollars
from hitrate.core.results import SCHEMA_VERSION

Outcome = Literal["held", "failed", "not checked"]

BREAKS = frozenset({"prefix_break", "key_change"})
"""Verdicts of a prompt that did not stay the same where it was sent before."""

MOST_BREAKS_NAMED = 3


class Expectations(Struct, frozen=True, kw_only=True):
    """None and False are not stated. `allow` names causes whose findings are accepted: no break, and no loss."""

    min_hit_rate: float | None = None
    """0..1, over the calls that report cached tokens."""
    no_breaks: bool = False
    max_lost_usd: float | None = None
    allow: tuple[str, ...] = ()

    @property
    def any_stated(self) -> bool:
        return self.no_breaks or self.min_hit_rate is not None or self.max_lost_usd is not None


class Gate(Struct, frozen=True, kw_only=True):
    """One expectation: `stated` and `seen` in the same unit, None where there is no such number."""

    expectation: str
    """ "min-hit-rate", "no-breaks" or "max-lost-usd"."""
    outcome: Outcome
    stated: float | None
    seen: float | None
    text: str
    """One line with the value seen, or why there is none."""


class CheckReport(Struct, frozen=True, kw_only=True):
    """`passed` only when every stated expectation held. `findings` are those that count against one."""

    schema_version: int = SCHEMA_VERSION
    kind: str = "check"
    log: str
    format: str
    passed: bool
    gates: tuple[Gate, ...]
    calls: int
    hit_rate: float | None
    lost_tokens: int
    lost_usd: float | None
    allowed: tuple[str, ...]
    findings: tuple[Finding, ...]


def check(report: ExplainReport, expected: Expectations, describe: Callable[[Finding], str]) -> CheckReport:
    """`describe` makes one line of a finding."""
    gates = tuple(_gates(report, expected, describe))
    return CheckReport(
        log=report.log,
        format=report.format,
        passed=bool(gates) and all(gate.outcome == "held" for gate in gates),
        gates=gates,
        calls=report.calls,
        hit_rate=report.waterfall.hit_rate,
        lost_tokens=report.waterfall.lost_tokens,
        lost_usd=report.waterfall.lost_usd,
        allowed=expected.allow,
        findings=tuple(one for one in report.findings if one.cause not in expected.allow),
    )


def breaks(report: ExplainReport, allow: Collection[str] = ()) -> list[Finding]:
    """Findings of a changed prompt or key, the dearest first."""
    return [one for one in report.findings if one.verdict in BREAKS and one.cause not in allow]


def _gates(report: ExplainReport, expected: Expectations, describe: Callable[[Finding], str]) -> Iterator[Gate]:
    if expected.min_hit_rate is not None:
        yield _hit_rate(report, expected.min_hit_rate)
    if expected.no_breaks:
        yield _no_breaks(report, expected.allow, describe)
    if expected.max_lost_usd is not None:
        yield _lost_usd(report, expected.max_lost_usd, expected.allow)


def _hit_rate(report: ExplainReport, least: float) -> Gate:
    seen = report.waterfall.hit_rate
    stated = f"hit rate of at least {_percent(least)} %"
    outcome: Outcome = "not checked"
    if seen is None:
        text = (
            f"could not check a {stated}: none of {_calls(report.calls)} reports cached tokens; not reported is not 0, "
            "and what could not be checked has not passed"
        )
    else:
        outcome = "held" if seen >= least else "failed"
        text = f"hit rate {_percent(seen, below=least)} %, expected at least {_percent(least)} %"
    return Gate(expectation="min-hit-rate", outcome=outcome, stated=least, seen=seen, text=text)


def _no_breaks(report: ExplainReport, allow: Collection[str], describe: Callable[[Finding], str]) -> Gate:
    found = breaks(report, allow)
    if not found and not report.calls:
        text = "could not check for breaks: no call was read"
        return Gate(expectation="no-breaks", outcome="not checked", stated=0, seen=None, text=text)
    if not found and (left_out := report.records.left_out):
        text = f"could not check for breaks: the request of {left_out:,} of {_calls(report.calls)} could not be read"
        return Gate(expectation="no-breaks", outcome="not checked", stated=0, seen=None, text=text)
    if not found:
        allowed = len(breaks(report)) - len(found)
        note = f", {allowed} allowed" if allowed else ""
        text = f"no breaks in {_calls(report.calls)}{note}"
        return Gate(expectation="no-breaks", outcome="held", stated=0, seen=0, text=text)
    named = "; ".join(describe(one) for one in found[:MOST_BREAKS_NAMED])
    more = f"; and {len(found) - MOST_BREAKS_NAMED} more" if len(found) > MOST_BREAKS_NAMED else ""
    text = f"{len(found)} break{'s' if len(found) != 1 else ''}, expected none: {named}{more}"
    return Gate(expectation="no-breaks", outcome="failed", stated=0, seen=len(found), text=text)


def _lost_usd(report: ExplainReport, most: float, allow: Collection[str]) -> Gate:
    """The sum of what is known is a lower bound: it can be too much, and be enough only where nothing is left out."""
    waterfall = report.waterfall
    seen, stated = waterfall.lost_usd, f"a loss of at most ${_usd(most)}"
    outcome: Outcome = "not checked"
    if seen is None:
        text = f"could not check {stated}: no amount is known, for want of prices or reported tokens"
    else:
        seen = max(0.0, seen - sum(one.lost_usd or 0.0 for one in report.findings if one.cause in allow))
        unknown = max(waterfall.unpriced_calls, report.records.left_out)
        outcome = "failed" if seen > most else "not checked" if unknown else "held"
        text = f"${_usd(seen)} lost, expected at most ${_usd(most)}"
        if outcome == "not checked":
            left_out = f"{unknown:,} of {_calls(report.calls)}"
            text = f"could not check {stated}: ${_usd(seen)} is known, for {left_out} it is not"
    return Gate(expectation="max-lost-usd", outcome=outcome, stated=most, seen=seen, text=text)


def _percent(rate: float, *, below: float | None = None) -> str:
    """With as many digits as it takes to tell it from the limit it is below of."""
    for digits in range(1, 6):
        text = f"{100 * rate:.{digits}f}"
        if below is None or rate >= below or float(text) < 100 * below:
            return text
    return text


def _usd(amount: float) -> str:
    return in_dollars(amount) if amount else "0"


def _calls(calls: int) -> str:
    return f"{calls:,} call{'s' if calls != 1 else ''}"
