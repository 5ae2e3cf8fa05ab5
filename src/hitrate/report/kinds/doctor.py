"""`doctor`: what is wrong with a target, check by check."""

from __future__ import annotations

from collections.abc import Iterator

from hitrate.core.listings import Diagnosis
from hitrate.report.columns import Column, Sheet
from hitrate.report.words import Line

TYPE = Diagnosis

CHECKS = (
    Column(key="name", header="check"),
    Column(key="outcome", header="outcome"),
    Column(key="found", header="found"),
)


def title(found: Diagnosis) -> str:
    return " · ".join(part for part in ("doctor", found.target, found.model, found.base_url) if part)


def sheets(found: Diagnosis) -> list[Sheet]:
    return [Sheet(columns=CHECKS, rows=found.checks)]


def records(found: Diagnosis) -> Sheet:
    return Sheet(columns=(*CHECKS, Column(key="advice", header="advice")), rows=found.checks)


def lines(found: Diagnosis) -> list[Line]:
    return list(_lines(found))


def _lines(found: Diagnosis) -> Iterator[Line]:
    for check in found.checks:
        if check.advice is not None:
            yield Line("note", f"{check.name}: {check.advice}")
    failed = sum(check.outcome == "failed" for check in found.checks)
    warned = sum(check.outcome == "warning" for check in found.checks)
    summary = f"{failed} failed, {warned} warning{'s' if warned != 1 else ''}" if failed or warned else "All is well"
    yield Line("verdict", f"{summary}; {found.calls} call{'s' if found.calls != 1 else ''} made.")
