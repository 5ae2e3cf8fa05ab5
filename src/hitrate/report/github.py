"""Workflow commands of GitHub Actions: annotations at the line of the log.

https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions. A command ends with its line, and its
properties end with the next "::", so what others wrote is escaped as the runner expects it.
"""

from __future__ import annotations

from typing import TextIO

from hitrate.core.findings import ExplainReport, Finding
from hitrate.report.escape import escape_line
from hitrate.report.levels import Level, level
from hitrate.report.sarif import message

MOST_ANNOTATIONS = 10
"""GitHub shows ten errors, ten warnings and ten notices of a step, and drops further ones."""

_COMMANDS: dict[Level, str] = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: ExplainReport, out: TextIO) -> None:
    """One annotation a finding, the dearest first."""
    shown = dict.fromkeys(_COMMANDS.values(), 0)
    for finding in report.findings:
        command = _COMMANDS[level(finding)]
        shown[command] += 1
        if shown[command] <= MOST_ANNOTATIONS:
            out.write(_annotation(command, report.log, finding) + "\n")


def _annotation(command: str, log: str, finding: Finding) -> str:
    return annotation(command, message(finding), title=f"hitrate: {finding.cause}", file=log, line=finding.line)


def annotation(command: str, text: str, *, title: str, file: str, line: int | None = None) -> str:
    """`::error file=...,line=...,title=...::text`. `command` is "error", "warning" or "notice"."""
    properties = {"file": file, "line": None if line is None else str(line), "title": title}
    written = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value is not None)
    return f"::{command} {written}::{_data(text)}"


def _data(text: str) -> str:
    return escape_line(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
