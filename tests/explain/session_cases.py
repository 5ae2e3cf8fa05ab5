"""Session files with known answers: what a tool may read of them, and whether a report gives the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hitrate.core.findings import ExplainReport
from hitrate.explaining import explain_log
from hitrate.logs.sniff import open_log
from hitrate.targets.dialects.by_shape import read_reply
from hitrate.targets.prices import Quote

READ = ("api", "requests", "log", "rules", "server", "prices")
"""The other members of a case file give the answer away."""


def explained(case: dict[str, Any], folder: Path) -> ExplainReport:
    path = folder / "session.json"
    path.write_text(json.dumps({name: case[name] for name in READ if name in case}, ensure_ascii=False))
    log = open_log(str(path), read_reply)
    return explain_log(log, lambda call: None if log.own_price is None else Quote(price=log.own_price))


def answer(report: ExplainReport) -> list[tuple[Any, ...]]:
    """Per finding its verdict, call, the call it is compared with, and the place."""
    return [(one.verdict, one.call, one.against, one.pointer, one.offset) for one in report.findings]


def expected(case: dict[str, Any], found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The findings that are right, given those that were made: what the case leaves open is taken over from them."""
    said = case["expected"]
    if not said["flag"]:
        return []
    place = said["first_divergence"] or {}
    first = found[0] if found else (None,) * 5
    turn, against = (first[1], first[2]) if said["turn"] is None else (said["turn"], said["against"])
    pointer = place.get("path", first[3])
    offset = place.get("offset", first[4])
    return [(said["verdict"], turn, against, pointer, offset)]
