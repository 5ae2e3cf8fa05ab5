"""SARIF 2.1.0, for code scanning and editors: each cause a rule, each finding a result at its line of the log.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any, TextIO
from urllib.parse import quote

from hitrate import __version__
from hitrate.core.findings import ExplainReport, Finding
from hitrate.core.records import Skipped
from hitrate.report.causes import causes
from hitrate.report.escape import escape_json, escape_line
from hitrate.report.kinds.explain import VOICES, first_line
from hitrate.report.levels import level

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

FINGERPRINT = "hitrateCauseAndPlace/v1"
"""Equal for the same cause at the same place in every log of a program, whatever the values and the session."""


def render(report: ExplainReport, out: TextIO) -> None:
    """One run. Characters that cannot be seen are escaped."""
    names = list(dict.fromkeys(finding.cause for finding in report.findings))
    run = {
        "tool": {
            "driver": {"name": "hitrate", "version": __version__, "rules": [_rule(report, name) for name in names]}
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report)],
        "results": list(_results(report, names)),
        "properties": {"calls": report.calls, "hitRate": report.waterfall.hit_rate},
    }
    write(run, out)


def write(run: dict[str, Any], out: TextIO) -> None:
    """A document with this one run."""
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    out.write(escape_json(json.dumps(document, indent=2, ensure_ascii=_has_surrogates(document))) + "\n")


def _has_surrogates(document: dict[str, Any]) -> bool:
    """Lone surrogates cannot be written as UTF-8."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _rule(report: ExplainReport, name: str) -> dict[str, Any]:
    first = next(finding for finding in report.findings if finding.cause == name)
    known = causes().get(name)
    words = name.replace("-", " ")
    return {
        "id": name,
        "name": words.title().replace(" ", ""),
        "shortDescription": plain_text(known.about if known else f"{words[:1].upper()}{words[1:]}."),
        "help": plain_text(first.advice or first.summary),
        "defaultConfiguration": {"level": level(first)},
        "properties": {"tags": ["prefix-cache", first.verdict], "reports": list(known.reports) if known else []},
    }


def _results(report: ExplainReport, names: list[str]) -> Iterator[dict[str, Any]]:
    seen: Counter[str] = Counter()
    for finding in report.findings:
        place = _fingerprint(finding)
        seen[place] += 1
        result = {
            "ruleId": finding.cause,
            "ruleIndex": names.index(finding.cause),
            "level": level(finding),
            "message": plain_text(message(finding)),
            "locations": [location_of(report.log, finding.line, finding.pointer)],
            "partialFingerprints": {FINGERPRINT: f"{place}:{seen[place]}"},
            "occurrenceCount": max(1, finding.occurrences),
            "properties": _properties(finding),
        }
        if finding.against_line is not None:
            compared = location_of(report.log, finding.against_line, finding.pointer)
            compared |= {"id": 1, "message": plain_text(f"call {finding.against}, which it is compared with")}
            result["relatedLocations"] = [compared]
        yield result


def plain_text(text: str) -> dict[str, str]:
    """A message whose braces are no placeholders and whose brackets are no link (SARIF 3.11.5, 3.11.6)."""
    return {"text": escape_line(text).replace("{", "{{").replace("}", "}}").replace("](", "] (")}


def message(finding: Finding) -> str:
    """Summary, advice and the first line, in one paragraph."""
    sentences = (finding.summary, finding.advice, f"({VOICES[finding.voice]}, {finding.confidence})")
    return " ".join(one for one in (*sentences, first_line(finding, with_summary=False)) if one)


def _properties(finding: Finding) -> dict[str, Any]:
    """Unknown is null, never 0."""
    return {
        "verdict": finding.verdict,
        "voice": finding.voice,
        "confidence": finding.confidence,
        "call": finding.call,
        "against": finding.against,
        "offset": finding.offset,
        "lostTokens": finding.lost_tokens,
        "lostUsd": finding.lost_usd,
        "ruledOut": [escape_line(one) for one in finding.ruled_out],
    }


def location_of(log: str, line: int | None, pointer: str | None) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri(log)}}
    if line is not None and line > 0:
        physical["region"] = {"startLine": line}
    location: dict[str, Any] = {"physicalLocation": physical}
    if pointer:
        place = escape_line(pointer)
        name = place.rpartition("/")[2] or place
        location["logicalLocations"] = [{"name": name, "fullyQualifiedName": place, "kind": "value"}]
    return location


def uri(log: str) -> str:
    """A relative reference for a relative path, else a file URI (RFC 3986). Lone surrogates become "?"."""
    path = PurePath(log.encode("utf-8", "replace").decode())
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _fingerprint(finding: Finding) -> str:
    place = "\0".join((finding.verdict, finding.cause, finding.pointer or ""))
    return hashlib.sha256(place.encode("utf-8", "replace")).hexdigest()[:32]


def _invocation(report: ExplainReport) -> dict[str, Any]:
    return {
        "executionSuccessful": True,
        "toolExecutionNotifications": list(_notifications(report.log, report.records.skipped)),
    }


def _notifications(log: str, skipped: Iterable[Skipped]) -> Iterator[dict[str, Any]]:
    """Records that were not used: a scan that left something out says so."""
    for one in skipped:
        yield {
            "level": "warning",
            "message": plain_text(f"not used: {one.reason}"),
            "locations": [location_of(log, one.line, None)],
        }
