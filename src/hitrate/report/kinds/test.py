"""`test`: hit rate turn by turn, folded to one line a turn where there are many sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hitrate.core.results import Aggregate, TestResult, TurnRow
from hitrate.report.columns import (
    CACHED,
    EXPECTED,
    HIT_RATE,
    MOST_CALLS_SHOWN,
    NOTE,
    OUTPUT,
    PREFILL,
    PROMPT,
    RUN_RECORD,
    SESSION,
    STATE,
    TOTAL,
    TTFT,
    TURN,
    Column,
    Record,
    Sheet,
    count,
    from_row,
    milliseconds,
    number,
    percent,
    share,
    times,
)
from hitrate.report.words import NO_RULE, Line, common_lines, run_title, spread

TYPE = TestResult

title = run_title

PER_TURN = (
    TURN,
    Column(key="found", header="history found\n% (95 % interval)", show=share),
    Column(key="sessions", header="of\nsessions", show=number, get=lambda row: row.found.n if row.found else None),
    HIT_RATE,
    Column(key="ttft_p50_ms", header="TTFT p50\nms", show=milliseconds),
)

PAD = (Column(key="pad_tokens", header="padding\ntokens", show=count), PROMPT, CACHED, EXPECTED)


TEST_RECORD = (
    *RUN_RECORD,
    Column(key="run", header="run"),
    *(from_row(column) for column in (SESSION, TURN, PAD[0], PROMPT, CACHED, EXPECTED, HIT_RATE, TTFT, STATE)),
    *(from_row(column) for column in (PREFILL, TOTAL, OUTPUT, NOTE)),
)


def sheets(result: TestResult) -> list[Sheet]:
    names = dict.fromkeys(row.run for row in result.turns)
    if is_folded(result):
        made = [
            Sheet(title=name, columns=PER_TURN, rows=tuple(row for row in result.per_turn if row.run == name))
            for name in names
        ]
    else:
        made = [_turns_sheet(name, [row for row in result.turns if row.run == name]) for name in names]
    if result.pad:
        made.append(Sheet(title="padding: the same prompt twice, the second call", columns=PAD, rows=result.pad))
    return made


def folded_calls(result: TestResult) -> int:
    """Calls that the sheets show folded to one line a turn."""
    return len(result.turns) if is_folded(result) else 0


def is_folded(result: TestResult) -> bool:
    return len(result.turns) > MOST_CALLS_SHOWN and bool(result.per_turn)


def _turns_sheet(name: str, rows: Sequence[TurnRow]) -> Sheet:
    many_sessions = len({row.session for row in rows}) > 1
    columns = [SESSION, TURN] if many_sessions else [TURN]
    columns += [PROMPT, CACHED, HIT_RATE, TTFT]
    if any(row.prefill_ms is not None for row in rows):
        columns.append(PREFILL)
    columns += [STATE, EXPECTED]
    notes = [
        (f"session {row.session} turn {row.turn}" if many_sessions else f"turn {row.turn}") + f": {row.note}"
        for row in rows
        if row.note
    ]
    return Sheet(title=name, columns=tuple(columns), rows=tuple(rows), notes=tuple(notes))


def records(result: TestResult) -> Sheet:
    made = [Record(result, row.run, row) for row in result.turns]
    made += [Record(result, "pad", row) for row in result.pad]
    return Sheet(columns=TEST_RECORD, rows=tuple(made))


def lines(result: TestResult) -> list[Line]:
    return list(_lines(result))


def _lines(result: TestResult) -> Iterator[Line]:
    yield Line("aggregate", aggregate(result))
    if text := _cold_and_warm(result.aggregate):
        yield Line("aggregate", text)
    if below := _below_expectation(result):
        yield Line("note", below)
    if result.verdict.text:
        yield Line("verdict", result.verdict.text)
    yield from (Line("verdict", text) for text in _findings(result))
    yield from common_lines(result.expectation, result.measurement, result.cost_usd, result.warnings)


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
        yield f"about {times(verdict.replicas.estimate)} replicas behind the address, {spread(verdict.replicas)}"
    if verdict.repeatable is not None:
        yield "repeated runs gave " + ("the same counts" if verdict.repeatable else "different counts")
