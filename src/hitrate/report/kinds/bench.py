"""`bench`: cold against warm time to first token, one row an order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from hitrate.core.results import BenchResult, BenchRow
from hitrate.report.columns import (
    CACHED,
    EXPECTED,
    HIT_RATE,
    NOTE,
    PREFILL,
    PROMPT,
    RUN_RECORD,
    STATE,
    TOTAL,
    TTFT,
    Column,
    Record,
    Sheet,
    count,
    from_row,
    milliseconds,
    number,
    percent,
    times,
)
from hitrate.report.words import Line, common_lines, run_title, spread

TYPE = BenchResult

title = run_title


def _not_reported(line: Any) -> str:
    return "–" if all(call.state == "failed" for call in line.row.calls) else "not reported"


BENCH = (
    Column(key="target", header="target", get=lambda row: row.target, drop_order=1),
    Column(key="order", header="order", get=lambda row: row.row.order),
    Column(key="first_ms", header="first_ms", show=milliseconds, get=lambda row: row.row.first_ms),
    Column(key="rest_p50_ms", header="rest_p50_ms", show=milliseconds, get=lambda row: row.row.rest_p50_ms),
    Column(key="speedup_x", header="speedup_x", show=times, get=lambda row: row.row.speedup_x),
    Column(key="rest_p95_ms", header="p95_ms", show=milliseconds, get=lambda row: row.row.rest_p95_ms),
    Column(
        key="cached_tokens",
        header="cached\ntokens",
        show=count,
        get=lambda row: row.row.cached_tokens,
        unknown=_not_reported,
    ),
    Column(key="hit_rate", header="hit\n%", show=percent, get=lambda row: row.row.hit_rate),
)

BENCH_RECORD = (
    *RUN_RECORD,
    Column(key="order", header="order", get=lambda record: record.part.order if record.part else None),
    Column(key="shape", header="shape", get=lambda record: record.part.shape if record.part else None),
    Column(key="call", header="call", show=number, get=lambda record: getattr(record.row, "call", None)),
    Column(key="role", header="role", get=lambda record: getattr(record.row, "role", "usage")),
    *(from_row(column) for column in (PROMPT, CACHED, EXPECTED, HIT_RATE, TTFT, STATE, PREFILL, TOTAL, NOTE)),
)


class _BenchLine(Struct, frozen=True):
    target: str
    row: Any


def sheets(result: BenchResult) -> list[Sheet]:
    made = []
    shapes = dict.fromkeys(row.shape for row in result.rows)
    for shape in shapes:
        rows = [row for row in result.rows if row.shape == shape]
        notes = [f"{row.order} call {call.call}: {call.note}" for row in rows for call in row.calls if call.note]
        made.append(
            Sheet(
                title=shape if len(shapes) > 1 else "",
                columns=BENCH,
                rows=tuple(_BenchLine(result.target, row) for row in rows),
                notes=tuple(notes),
            )
        )
    if result.usage_call is not None:
        columns = (PROMPT, CACHED, HIT_RATE, TTFT, STATE, EXPECTED)
        made.append(Sheet(title="usage of one extra call", columns=columns, rows=(result.usage_call,)))
    return made


def records(result: BenchResult) -> Sheet:
    made = [Record(result, "", call, row) for row in result.rows for call in row.calls]
    if result.usage_call is not None:
        made.append(Record(result, "", result.usage_call))
    return Sheet(columns=BENCH_RECORD, rows=tuple(made))


def lines(result: BenchResult) -> list[Line]:
    return list(_lines(result))


def _lines(result: BenchResult) -> Iterator[Line]:
    for row in result.rows:
        if text := _cold_against_warm(row):
            yield Line("aggregate", text)
        warm_up = [call.call for call in row.calls if call.role == "warm-up"]
        if warm_up:
            yield Line("note", f"{row.order}: warm-up, not averaged: call {', '.join(map(str, warm_up))}")
    yield from common_lines(result.expectation, result.measurement, result.cost_usd, result.warnings)


def _cold_against_warm(row: BenchRow) -> str | None:
    if row.cold_p50_ms is None:
        return None
    cold_calls = sum(call.role == "cold" for call in row.calls)
    text = f"{row.order}: cold in between p50 {milliseconds(row.cold_p50_ms)} ms, n = {count(cold_calls)}"
    if row.cold_speedup is not None:
        text += f"; warm is {times(row.cold_speedup.estimate)}x as fast, {spread(row.cold_speedup)}"
    return text
