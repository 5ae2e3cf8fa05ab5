"""`check`: whether a log held what is expected of it."""

from __future__ import annotations

from collections.abc import Iterator

from hitrate.explain.gates import CheckReport
from hitrate.report.columns import Column, Sheet, count
from hitrate.report.kinds.explain import VOICES
from hitrate.report.words import Line

TYPE = CheckReport

MOST_FINDINGS_SHOWN = 10


def _figure(value: float) -> str:
    """A share, a number of breaks or an amount."""
    return f"{value:,.6f}".rstrip("0").rstrip(".")


GATES = (
    Column(key="expectation", header="expectation"),
    Column(key="outcome", header="outcome"),
    Column(key="stated", header="stated", show=_figure),
    Column(key="seen", header="seen", show=_figure),
)


def title(report: CheckReport) -> str:
    failed = sum(gate.outcome == "failed" for gate in report.gates)
    unchecked = sum(gate.outcome == "not checked" for gate in report.gates)
    parts = [f"{failed} failed"] * bool(failed) + [f"{unchecked} could not be checked"] * bool(unchecked)
    outcome = "passed" if report.passed else f"not passed: {', '.join(parts)}"
    return f"check · {report.log} · {outcome}"


def sheets(report: CheckReport) -> list[Sheet]:
    return [Sheet(columns=GATES, rows=report.gates)]


def records(report: CheckReport) -> Sheet:
    return Sheet(columns=(*GATES, Column(key="text", header="text")), rows=report.gates)


def lines(report: CheckReport) -> list[Line]:
    return list(_lines(report))


def _lines(report: CheckReport) -> Iterator[Line]:
    for gate in report.gates:
        yield Line("note" if gate.outcome == "held" else "verdict", f"{gate.expectation}: {gate.text}")
    for finding in report.findings[:MOST_FINDINGS_SHOWN]:
        yield Line("note", f"{VOICES[finding.voice]}, {finding.confidence}: {finding.cause}: {finding.summary}")
        if finding.advice:
            yield Line("note", f"what to do: {finding.advice}")
    if (more := len(report.findings) - MOST_FINDINGS_SHOWN) > 0:
        yield Line("note", f"{count(more)} further findings: hitrate explain lists all")
    if report.allowed:
        yield Line("note", f"allowed: {', '.join(report.allowed)}")
