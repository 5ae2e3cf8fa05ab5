"""`runs`: what is stored, newest first."""

from __future__ import annotations

from hitrate.logs.store import RunList
from hitrate.report.columns import Column, Sheet, count, percent
from hitrate.report.words import Line

TYPE = RunList

RUNS = (
    Column(key="id", header="run"),
    Column(key="started_at", header="started"),
    Column(key="kind", header="kind"),
    Column(key="target", header="target"),
    Column(key="model", header="model", drop_order=1),
    Column(key="calls", header="calls\nn", show=count),
    Column(key="hit_rate", header="hit\nrate %", show=percent),
    Column(key="finished", header="state", get=lambda row: "finished" if row.finished else "cut off"),
)


def title(listed: RunList) -> str:
    return f"runs · {listed.store}"


def sheets(listed: RunList) -> list[Sheet]:
    return [Sheet(columns=RUNS, rows=listed.runs)]


def records(listed: RunList) -> Sheet:
    command = Column(key="command", header="command")
    finished = Column(key="finished", header="finished", get=lambda row: str(row.finished).lower())
    return Sheet(columns=(*RUNS[:-1], finished, command), rows=listed.runs)


def lines(listed: RunList) -> list[Line]:
    return [] if listed.runs else [Line("note", "no run is stored yet")]
