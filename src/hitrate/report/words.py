"""What stands above and below the columns, in sentences; shared by table, Markdown and HTML.

Sentences may hold text that others wrote (model names, verdicts with a prompt's first words): each format escapes
every line it prints.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from hitrate.core.comparison import Comparison, Side
from hitrate.core.cost import BreakEven, CostReport
from hitrate.core.listings import Diagnosis, TargetEntry
from hitrate.core.results import Aggregate, BenchResult, BenchRow, Expectation, Interval, Measurement, TestResult
from hitrate.report import columns
from hitrate.report.columns import Value, amount, count, milliseconds, percent, times

MOST_RECORDS_NAMED = 5
"""Damaged records and remarks that a screen shows; JSON has them all."""


NO_RULE = "longest common prefix"
"""What stands in the place of a rule where a target publishes none."""

_STEP_BASIS = {"run": "measured", "rule": "by its cache rule", "counts": "common divisor of its counts"}


class Line(Struct, frozen=True):
    """`kind` is "aggregate", "verdict", "expectation", "measurement", "cost", "note" or "warning"."""

    kind: str
    text: str


def title(value: Value) -> str:
    """One line: what was run, on what, when, and under which id it is stored."""
    if isinstance(value, Comparison):
        return f"compare · {value.of} · A {_name(value.a)} · B {_name(value.b)}"
    if isinstance(value, (TestResult, BenchResult)):
        run = f"run {value.run_id}" if value.run_id else None
        return " · ".join(part for part in (value.kind, value.target, value.model, value.started_at, run) if part)
    if isinstance(value, columns.ModelList):
        return f"models · {value.target} · {len(value.models)}"
    if isinstance(value, columns.TargetList):
        return f"targets · {value.targets[0].name if len(value.targets) == 1 else len(value.targets)}"
    if isinstance(value, columns.Diagnosis):
        return " · ".join(part for part in ("doctor", value.target, value.model, value.base_url) if part)
    if isinstance(value, CostReport):
        return f"cost · {value.log} · {value.format}"
    return f"runs · {value.store}"


def lines(value: Value) -> list[Line]:
    """The sentences below the columns, in the order they are read."""
    if isinstance(value, TestResult):
        return list(_test_lines(value))
    if isinstance(value, BenchResult):
        return list(_bench_lines(value))
    if isinstance(value, Comparison):
        return list(_comparison_lines(value))
    if isinstance(value, columns.ModelList):
        return [Line("warning", text) for text in value.warnings]
    if isinstance(value, columns.TargetList):
        return [*(_target_lines(value.targets[0]) if len(value.targets) == 1 else ())] + [
            Line("warning", text) for text in value.warnings
        ]
    if isinstance(value, columns.Diagnosis):
        return list(_diagnosis_lines(value))
    if isinstance(value, CostReport):
        return list(_cost_lines(value))
    return [] if value.runs else [Line("note", "no run is stored yet")]


def _target_lines(target: TargetEntry) -> Iterator[Line]:
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


def _diagnosis_lines(found: Diagnosis) -> Iterator[Line]:
    for check in found.checks:
        if check.advice is not None:
            yield Line("note", f"{check.name}: {check.advice}")
    failed = sum(check.outcome == "failed" for check in found.checks)
    warned = sum(check.outcome == "warning" for check in found.checks)
    summary = f"{failed} failed, {warned} warning{'s' if warned != 1 else ''}" if failed or warned else "All is well"
    yield Line("verdict", f"{summary}; {found.calls} call{'s' if found.calls != 1 else ''} made.")


def _name(side: Side) -> str:
    run = f"run {side.run_id}" if side.run_id else None
    return " ".join(part for part in (side.target, side.model, run) if part)


def _test_lines(result: TestResult) -> Iterator[Line]:
    yield Line("aggregate", aggregate(result))
    if text := _cold_and_warm(result.aggregate):
        yield Line("aggregate", text)
    if below := _below_expectation(result):
        yield Line("note", below)
    if result.verdict.text:
        yield Line("verdict", result.verdict.text)
    yield from (Line("verdict", text) for text in _findings(result))
    yield from _common_lines(result.expectation, result.measurement, result.cost_usd, result.warnings)


def aggregate(result: TestResult) -> str:
    sums = result.aggregate
    calls = f"{count(sums.calls)} calls" if sums.calls != 1 else "1 call"
    if sums.hit_rate is None or sums.cached_tokens is None or sums.prompt_tokens is None:
        text = f"hit rate not reported, {calls}"
    else:
        text = (
            f"hit rate {percent(sums.hit_rate)} %: {count(sums.cached_tokens)} of {count(sums.prompt_tokens)} "
            f"prompt tokens from cache, {calls}"
        )
    if sums.not_reported:
        text += f", {count(sums.not_reported)} not reported"
    if sums.failed:
        text += f", {count(sums.failed)} failed"
    return text


def _cold_and_warm(sums: Aggregate) -> str | None:
    figures = (("cold", sums.ttft_cold_p50_ms), ("warm", sums.ttft_warm_p50_ms))
    known = [f"{name} {milliseconds(value)} ms" for name, value in figures if value is not None]
    return f"TTFT p50 {', '.join(known)}" if known else None


def _below_expectation(result: TestResult) -> str | None:
    short = [
        row
        for row in result.turns
        if row.cached_tokens is not None
        and row.expected_cached_tokens is not None
        and row.cached_tokens < row.expected_cached_tokens
        and row.state in ("miss", "partial")
    ]
    if not short:
        return None
    missing = sum((row.expected_cached_tokens or 0) - (row.cached_tokens or 0) for row in short)
    than = "the longest common prefix" if result.expectation.rule_set == NO_RULE else "the cache rule predicts"
    return (
        f"{count(len(short))} of {count(len(result.turns))} calls got less than {than}, {count(missing)} tokens in all"
    )


def _findings(result: TestResult) -> Iterator[str]:
    verdict = result.verdict
    if verdict.granularity is not None:
        yield f"cached tokens come in steps of {count(verdict.granularity)}"
    if verdict.replicas is not None:
        yield f"about {times(verdict.replicas.estimate)} replicas behind the address, {_spread(verdict.replicas)}"
    if verdict.repeatable is not None:
        yield "repeated runs gave " + ("the same counts" if verdict.repeatable else "different counts")


def _bench_lines(result: BenchResult) -> Iterator[Line]:
    for row in result.rows:
        if text := _cold_against_warm(row):
            yield Line("aggregate", text)
        warm_up = [call.call for call in row.calls if call.role == "warm-up"]
        if warm_up:
            yield Line("note", f"{row.order}: warm-up, not averaged: call {', '.join(map(str, warm_up))}")
    yield from _common_lines(result.expectation, result.measurement, result.cost_usd, result.warnings)


def _cold_against_warm(row: BenchRow) -> str | None:
    if row.cold_p50_ms is None:
        return None
    cold_calls = sum(call.role == "cold" for call in row.calls)
    text = f"{row.order}: cold in between p50 {milliseconds(row.cold_p50_ms)} ms, n = {count(cold_calls)}"
    if row.cold_speedup is not None:
        text += f"; warm is {times(row.cold_speedup.estimate)}x as fast, {_spread(row.cold_speedup)}"
    return text


def _comparison_lines(comparison: Comparison) -> Iterator[Line]:
    yield Line("verdict", comparison.text)
    for name, side in (("A", comparison.a), ("B", comparison.b)):
        if side.granularity is not None:
            basis = _STEP_BASIS[side.granularity_basis or "counts"]
            yield Line("note", f"{name} credits in steps of {count(side.granularity)} tokens ({basis})")
        if side.rule_set:
            yield Line("expectation", f"{name} expected by {side.rule_set}")
    yield from (Line("warning", text) for text in comparison.warnings)


def _cost_lines(report: CostReport) -> Iterator[Line]:
    yield Line("aggregate", bill(report))
    if report.hit_rate is not None and report.cached_tokens is not None:
        tokens = f"{count(report.cached_tokens)} prompt tokens from cache"
        if not report.not_reported and report.prompt_tokens is not None:
            tokens = f"{count(report.cached_tokens)} of {count(report.prompt_tokens)} prompt tokens from cache"
        yield Line("aggregate", f"hit rate {percent(report.hit_rate)} %: {tokens}")
    if report.write_premium_usd:
        yield Line("cost", f"writing to the cache cost ${amount(report.write_premium_usd)} more than sending fresh")
    if report.storage_usd is not None:
        yield Line("cost", f"cache storage ${amount(report.storage_usd)}, not part of the bill above")
    yield from (Line("note", break_even(found)) for found in report.break_even)
    for unpriced in report.unpriced:
        name = f" of {unpriced.model}" if unpriced.model else ""
        which = f"{count(unpriced.calls)} of {count(report.calls)} calls{name}"
        yield Line("warning", f"{which} are unpriced and in no amount: {unpriced.reason}")
    yield from (Line("warning", text) for text in report.warnings)
    if sources := dict.fromkeys(price.source for price in report.prices if price.source):
        yield Line("measurement", f"prices from {', '.join(sources)}")
    yield from _record_lines(report)


def bill(report: CostReport) -> str:
    """The figure of it all, in one sentence."""
    if report.usd is None or report.usd_without_caching is None or report.usd_saved is None:
        return f"no bill: none of {count(report.calls)} calls has a price"
    text = f"bill ${amount(report.usd)} instead of ${amount(report.usd_without_caching)} without caching"
    if not report.usd_without_caching or not report.usd_saved:
        return text
    share = percent(abs(report.usd_saved) / report.usd_without_caching)
    return f"{text}: ${amount(abs(report.usd_saved))} ({share} %) {'saved' if report.usd_saved > 0 else 'more'}"


def break_even(found: BreakEven) -> str:
    lifetime = "one-hour write" if found.lifetime == "1h" else "write"
    factors = f"a {lifetime} costs {found.write_x:.4g}x the input price, a read {found.read_x:.4g}x"
    pays = "it never pays back" if found.calls is None else f"it pays back from call {found.calls} on"
    return f"{found.model}: {factors}; {pays}" if found.model else f"{factors}; {pays}"


def _record_lines(report: CostReport) -> Iterator[Line]:
    records = report.records
    if records.repeated:
        yield Line("note", f"{count(records.repeated)} further lines of calls that are counted once")
    for skipped in records.skipped[:MOST_RECORDS_NAMED]:
        yield Line("warning", f"{report.log}{skipped.place}: {skipped.reason}; not used")
    if records.damaged > MOST_RECORDS_NAMED:
        yield Line("warning", f"{count(records.damaged)} records in all cannot be used; --json lists them")
    for remark in records.remarks[:MOST_RECORDS_NAMED]:
        place = f"line {remark.line}: " if remark.line is not None else ""
        yield Line("note", f"{place}{remark.what}")
    if len(records.remarks) > MOST_RECORDS_NAMED:
        yield Line("note", f"{count(len(records.remarks))} remarks in all; --json lists them")


def _common_lines(
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


def _spread(value: Interval) -> str:
    return f"95 % {times(value.low)} to {times(value.high)}, n = {count(value.n)}"
