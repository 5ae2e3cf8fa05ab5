"""`targets`: what can be asked; a single one in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from hitrate.core.listings import TargetEntry, TargetList
from hitrate.report.columns import Column, Sheet
from hitrate.report.words import Line

TYPE = TargetList

_KEY_STATES = {True: "set", False: "not set", None: "–"}

TARGETS = (
    Column(key="name", header="target"),
    Column(key="dialect", header="wire", drop_order=3),
    Column(key="key_variable", header="key variable", drop_order=1),
    Column(key="key_set", header="key", get=lambda row: _KEY_STATES[row.key_set]),
    Column(key="affinity", header="affinity", get=lambda row: row.affinity[0] if row.affinity else None, drop_order=4),
    Column(key="cold_knob", header="cold knob", drop_order=5),
    Column(key="rule_set", header="cache rule", drop_order=2),
    Column(key="base_url", header="base URL", unknown=lambda row: "your own", drop_order=6),
    Column(key="date", header="read on", drop_order=7),
)

_WHOLE = {
    "key_set": lambda row: None if row.key_set is None else str(row.key_set).lower(),
    "affinity": lambda row: ", ".join(row.affinity) or None,
}
TARGET_RECORD = tuple(
    Column(key=name, header=name, get=_WHOLE.get(name))
    for name in (*(column.key for column in TARGETS), "reports_cached", "start_command", "source")
)


def title(listed: TargetList) -> str:
    return f"targets · {listed.targets[0].name if len(listed.targets) == 1 else len(listed.targets)}"


def sheets(listed: TargetList) -> list[Sheet]:
    return [Sheet(columns=TARGETS, rows=listed.targets)] if len(listed.targets) > 1 else []


def records(listed: TargetList) -> Sheet:
    return Sheet(columns=TARGET_RECORD, rows=listed.targets)


def lines(listed: TargetList) -> list[Line]:
    facts = _facts(listed.targets[0]) if len(listed.targets) == 1 else ()
    return [*facts, *(Line("warning", text) for text in listed.warnings)]


def _facts(target: TargetEntry) -> Iterator[Line]:
    key = {True: " (set)", False: " (not set)", None: ""}[target.key_set]
    facts = {
        "base URL": target.base_url or "your own: give it with --base-url",
        "key variable": f"{target.key_variable or 'none'}{key}",
        "wire": target.dialect,
        "affinity": ", ".join(target.affinity) or "none",
        "cold knob": target.cold_knob or "none: a nonce in the first tokens",
        "cache rule": target.rule_set or "not published",
        "cached tokens reported": target.reports_cached,
        "start it with": target.start_command,
        "source": f"{target.source} ({target.date})" if target.date else target.source,
        "notes": " ".join(target.notes.split()),
    }
    yield from (Line("note", f"{name}: {text}") for name, text in facts.items() if text)
