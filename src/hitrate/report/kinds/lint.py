"""`lint`: what is wrong with request bodies before they are sent, a line a finding."""

from __future__ import annotations

from collections.abc import Iterator

from hitrate.core.linting import LintFinding, LintReport
from hitrate.report.columns import Column, Sheet, count
from hitrate.report.words import Line, Passage

TYPE = LintReport

RECORDS = tuple(Column(key=name, header=name) for name in LintFinding.__struct_fields__)


def title(report: LintReport) -> str:
    requests = f"{count(report.requests)} request{'' if report.requests == 1 else 's'}"
    if not report.findings:
        return f"lint · {requests} · nothing found"
    counts = {severity: sum(one.severity == severity for one in report.findings) for severity in _PLURALS}
    parts = [
        f"{number} {severity if number == 1 else _PLURALS[severity]}" for severity, number in counts.items() if number
    ]
    return f"lint · {requests} · {', '.join(parts)}"


_PLURALS = {"error": "errors", "warning": "warnings", "note": "notes"}


def passages(report: LintReport) -> list[Passage]:
    """One a finding: its first line is the finding, what follows the text at the place and what to do."""
    return [Passage(f"{one.severity} · {one.cause} · {place(one)}", tuple(_told(one))) for one in report.findings]


def place(finding: LintFinding) -> str:
    """ "a.json, line 3: /system, character 31"; the request where a file has several, and what it differs from."""
    where = finding.file + (f", line {finding.line}" if finding.line is not None else "")
    if finding.line is None:
        where += f", request {finding.request}"
    if finding.against is not None:
        where += f" against {finding.against}"
    if finding.pointer is None:
        return where
    return f"{where}: {finding.pointer or 'the whole body'}" + (
        f", character {count(finding.offset)}" if finding.offset is not None else ""
    )


def _told(finding: LintFinding) -> Iterator[Line]:
    yield Line("summary", finding.summary)
    if finding.excerpt:
        yield Line("place", f"there: {finding.excerpt}")
    if finding.advice:
        yield Line("advice", f"what to do: {finding.advice}")
    if finding.requests > 1:
        yield Line("place", f"in {count(finding.requests)} requests, this the first")


def sheets(report: LintReport) -> list[Sheet]:
    return []


def records(report: LintReport) -> Sheet:
    return Sheet(columns=RECORDS, rows=report.findings)


def lines(report: LintReport) -> list[Line]:
    return list(_lines(report))


def _lines(report: LintReport) -> Iterator[Line]:
    if report.requests == 1:
        yield Line("note", "of one request: what changes from call to call shows with two or more")
    strict = " and no note" if report.strict else ""
    yield Line("verdict", f"{'passed' if report.passed else 'not passed'}: expected no error, no warning{strict}")
    yield from (Line("note", text) for text in report.notes)
