"""`compare`: the same conversation on two targets, call by call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hitrate.core.comparison import Comparison, Side
from hitrate.report.columns import (
    MOST_CALLS_SHOWN,
    RUN,
    SESSION,
    TURN,
    Column,
    Record,
    Sheet,
    count,
    from_row,
    milliseconds,
    percent,
    points,
    signed_milliseconds,
)
from hitrate.report.words import Line

TYPE = Comparison

_STEP_BASIS = {"run": "measured", "rule": "by its cache rule", "counts": "common divisor of its counts"}

COMPARED = (
    SESSION,
    TURN,
    Column(key="prompt_tokens_a", header="prompt A\ntokens", show=count, drop_order=2),
    Column(key="prompt_tokens_b", header="prompt B\ntokens", show=count, drop_order=2),
    Column(key="cached_tokens_a", header="cached A\ntokens", show=count),
    Column(key="cached_tokens_b", header="cached B\ntokens", show=count),
    Column(key="hit_rate_a", header="hit A\n%", show=percent),
    Column(key="hit_rate_b", header="hit B\n%", show=percent),
    Column(key="hit_rate_difference", header="B-A\npoints", show=points),
    Column(key="ttft_a_ms", header="TTFT A\nms", show=milliseconds, drop_order=1),
    Column(key="ttft_b_ms", header="TTFT B\nms", show=milliseconds, drop_order=1),
    Column(key="ttft_difference_ms", header="B-A\nms", show=signed_milliseconds, drop_order=3),
    Column(key="reason", header="reason"),
)

COMPARE_RECORD = (
    Column(key="target_a", header="target A", get=lambda record: record.result.a.target),
    Column(key="target_b", header="target B", get=lambda record: record.result.b.target),
    *(from_row(column) for column in (RUN, *COMPARED)),
    Column(key="short_by_tokens", header="short by\ntokens", show=count, get=lambda record: record.row.short_by_tokens),
    Column(key="text", header="text", get=lambda record: record.row.text),
)


def title(comparison: Comparison) -> str:
    return f"compare · {comparison.of} · A {_name(comparison.a)} · B {_name(comparison.b)}"


def _name(side: Side) -> str:
    run = f"run {side.run_id}" if side.run_id else None
    return " ".join(part for part in (side.target, side.model, run) if part)


def sheets(comparison: Comparison) -> list[Sheet]:
    names = dict.fromkeys(call.run for call in comparison.calls)
    return [_sheet(name, [call for call in comparison.calls if call.run == name]) for name in names]


def _sheet(name: str, rows: Sequence[Any]) -> Sheet:
    many_sessions = len({row.session for row in rows}) > 1
    notes = tuple(
        (f"session {row.session} turn {row.turn}" if many_sessions else f"turn {row.turn}") + f": {row.text}"
        for row in rows
        if row.reason not in ("equal", "granularity")
    )
    columns = COMPARED if many_sessions else COMPARED[1:]
    return Sheet(title=name, columns=columns, rows=tuple(rows), notes=notes[:MOST_CALLS_SHOWN])


def records(comparison: Comparison) -> Sheet:
    return Sheet(columns=COMPARE_RECORD, rows=tuple(Record(comparison, call.run, call) for call in comparison.calls))


def lines(comparison: Comparison) -> list[Line]:
    return list(_lines(comparison))


def _lines(comparison: Comparison) -> Iterator[Line]:
    yield Line("verdict", comparison.text)
    for name, side in (("A", comparison.a), ("B", comparison.b)):
        if side.granularity is not None:
            basis = _STEP_BASIS[side.granularity_basis or "counts"]
            yield Line("note", f"{name} credits in steps of {count(side.granularity)} tokens ({basis})")
        if side.rule_set:
            yield Line("expectation", f"{name} expected by {side.rule_set}")
    yield from (Line("warning", text) for text in comparison.warnings)
