"""The findings of `lint` as SARIF 2.1.0: each check a rule, each finding a result in the request's own file."""

from __future__ import annotations

import hashlib
from typing import Any, TextIO

from hitrate import __version__
from hitrate.core.linting import LintFinding, LintReport
from hitrate.report.causes import causes
from hitrate.report.sarif import location_of, plain_text, write

FINGERPRINT = "hitrateLintCauseAndPlace/v1"


def render(report: LintReport, out: TextIO) -> None:
    """One run. Characters that cannot be seen are escaped."""
    names = list(dict.fromkeys(finding.cause for finding in report.findings))
    write(
        {
            "tool": {
                "driver": {"name": "hitrate", "version": __version__, "rules": [_rule(report, name) for name in names]}
            },
            "columnKind": "unicodeCodePoints",
            "invocations": [{"executionSuccessful": True}],
            "results": [_result(finding, names) for finding in report.findings],
            "properties": {"requests": report.requests},
        },
        out,
    )


def message(finding: LintFinding) -> str:
    return f"{finding.summary} {finding.advice}".strip()


def about(name: str) -> str:
    """One sentence that holds for every finding of this name."""
    from hitrate.explain.lint.checks import CHECKS

    own = next((check.about for check in CHECKS if check.name == name), None)
    known = causes().get(name)
    return own or (known.about if known else name.replace("-", " ").capitalize() + ".")


def _rule(report: LintReport, name: str) -> dict[str, Any]:
    first = next(finding for finding in report.findings if finding.cause == name)
    return {
        "id": name,
        "name": name.replace("-", " ").title().replace(" ", ""),
        "shortDescription": plain_text(about(name)),
        "help": plain_text(first.advice or first.summary),
        "defaultConfiguration": {"level": first.severity},
        "properties": {"tags": ["prefix-cache"]},
    }


def _result(finding: LintFinding, names: list[str]) -> dict[str, Any]:
    place = "\0".join((finding.cause, finding.pointer or "")).encode("utf-8", "replace")
    return {
        "ruleId": finding.cause,
        "ruleIndex": names.index(finding.cause),
        "level": finding.severity,
        "message": plain_text(message(finding)),
        "locations": [location_of(finding.file, finding.line, finding.pointer)],
        "partialFingerprints": {FINGERPRINT: hashlib.sha256(place).hexdigest()[:32]},
        "occurrenceCount": finding.requests,
        "properties": {"request": finding.request, "against": finding.against, "offset": finding.offset},
    }
