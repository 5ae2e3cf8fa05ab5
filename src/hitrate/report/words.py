"""Sentences that several kinds of values share, and what a sentence is.

Sentences may hold text that others wrote (model names, verdicts with a prompt's first words): each format escapes
every line it prints.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from hitrate.core.findings import RecordSums
from hitrate.core.records import Caution, Records
from hitrate.core.results import BenchResult, Expectation, Interval, Measurement, TestResult
from hitrate.report.columns import count, milliseconds, times

MOST_RECORDS_NAMED = 5
"""Damaged records and remarks that a screen shows; JSON has them all."""

NO_RULE = "longest common prefix"
"""What stands in the place of a rule where a target publishes none."""


class Line(Struct, frozen=True):
    """`kind` is "aggregate", "verdict", "expectation", "measurement", "cost", "note" or "warning"."""

    kind: str
    text: str


class Passage(Struct, frozen=True):
    """A heading with sentences below it, between the title and the tables."""

    heading: str
    lines: tuple[Line, ...]


class Listing(Struct, frozen=True, kw_only=True):
    """Lines that are to be typed or copied, with what is said of them below."""

    title: str
    language: str
    text: str
    note: str = ""


def run_title(result: TestResult | BenchResult) -> str:
    """What was run, on what, when, and under which id it is stored."""
    run = f"run {result.run_id}" if result.run_id else None
    return " · ".join(part for part in (result.kind, result.target, result.model, result.started_at, run) if part)


def record_lines(log: str, records: Records | RecordSums) -> Iterator[Line]:
    if records.repeated:
        yield Line("note", f"{count(records.repeated)} further lines of calls that are counted once")
    for skipped in records.skipped[:MOST_RECORDS_NAMED]:
        left = "not compared, its counts are used" if skipped.counted else "not used"
        yield Line("warning", f"{log}{skipped.place}: {skipped.reason}; {left}")
    left_out = records.left_out if isinstance(records, RecordSums) else 0
    if records.damaged + left_out > MOST_RECORDS_NAMED:
        parts = [f"{count(records.damaged)} cannot be used"] * bool(records.damaged)
        parts += [f"{count(left_out)} cannot be compared"] * bool(left_out)
        yield Line("warning", f"of the records {' and '.join(parts)}; --json lists them")
    for remark in sorted(records.remarks, key=lambda one: not isinstance(one, Caution))[:MOST_RECORDS_NAMED]:
        place = f"line {remark.line}: " if remark.line is not None else ""
        yield Line("warning" if isinstance(remark, Caution) else "note", f"{place}{remark.what}")
    if len(records.remarks) > MOST_RECORDS_NAMED:
        yield Line("note", f"{count(len(records.remarks))} remarks in all; --json lists them")


def common_lines(
    expectation: Expectation, measured: Measurement, cost_usd: float | None, warnings: tuple[str, ...]
) -> Iterator[Line]:
    if text := expected(expectation):
        yield Line("expectation", text)
    if text := measurement(measured):
        yield Line("measurement", text)
    if measured.retries:
        waited = f"after {times(measured.waited_s)} s of waiting in all"
        yield Line("measurement", f"{count(measured.retries)} repeated tries {waited}")
    if cost_usd is not None:
        yield Line("cost", f"cost about ${cost_usd:.4f}")
    yield from (Line("warning", text) for text in warnings)


def expected(expectation: Expectation) -> str | None:
    note = f" ({expectation.note})" if expectation.note else ""
    if expectation.rule_set is None:
        return f"no expectation{note}: no cache rule is known for this target"
    basis = {"exact": ", exact tokens", "estimated": ", estimated tokens"}.get(expectation.basis or "", "")
    return f"expected by {expectation.rule_set}{note}{basis}"


def measurement(measured: Measurement) -> str | None:
    """How far the run's own clock can be trusted; None if the run did not measure itself."""
    parts = []
    if measured.loop_lag_p99_ms is not None:
        parts.append(f"loop lag p99 {milliseconds(measured.loop_lag_p99_ms)} ms")
    if measured.calls:
        parts.append(f"{count(measured.late_first_reads)} of {count(measured.calls)} TTFTs are upper bounds")
    if measured.achieved_concurrency is not None and measured.asked_concurrency is not None:
        parts.append(f"concurrency {times(measured.achieved_concurrency)} of {count(measured.asked_concurrency)}")
    return f"this run's own error: {', '.join(parts)}" if parts else None


def spread(value: Interval) -> str:
    return f"95 % {times(value.low)} to {times(value.high)}, n = {count(value.n)}"
