"""Every value as sheets of columns: the one place that knows headers, units and formats.

Table and Markdown show `sheets()`, one a run or shape; CSV writes `records()`, all calls in one sheet. So the formats
cannot disagree about what a figure is called, how it is rounded, or what is said when it is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from hitrate.core.comparison import Comparison
from hitrate.core.cost import CostReport
from hitrate.core.listings import Diagnosis, ModelList, TargetList
from hitrate.core.results import BenchResult, Interval, TestResult, TurnRow
from hitrate.logs.store import RunList

Value = TestResult | BenchResult | Comparison | ModelList | TargetList | Diagnosis | RunList | CostReport

MOST_CALLS_SHOWN = 60
"""A test with more calls is folded to one line a turn, so that hundreds of sessions still fit a screen or two."""


def count(value: int) -> str:
    return f"{value:,}"


def number(value: int) -> str:
    return str(value)


def milliseconds(value: float) -> str:
    return f"{value:,.1f}"


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def points(value: float) -> str:
    return f"{100 * value:+.1f}"


def signed_milliseconds(value: float) -> str:
    return f"{value:+,.1f}"


def times(value: float) -> str:
    return f"{value:,.1f}"


def dollars(value: float) -> str:
    return f"{value:.4g}"


def amount(value: float) -> str:
    """An amount of money: cents from a dollar on, below it to the millionth."""
    if abs(value) >= 1 or value == 0:
        return f"{value:,.2f}"
    return f"{value:.6f}".rstrip("0") if abs(value) >= 1e-4 else f"{value:.4g}"


def share(value: Interval) -> str:
    return f"{percent(value.estimate)} ({percent(value.low)}–{percent(value.high)})"


def _dash(_row: Any) -> str:
    return "–"


def _not_reported(row: Any) -> str:
    return "–" if getattr(row, "state", "") == "failed" else "not reported"


def _bench_not_reported(line: Any) -> str:
    return "–" if all(call.state == "failed" for call in line.row.calls) else "not reported"


class Column(Struct, frozen=True, kw_only=True):
    """`key` is the name in CSV, as in JSON; `header` is for people, unit on its second line.

    `show` makes text of a known value, `unknown` of a row without one. Text columns (`show` is None) hold text that
    others may have written. `predicted` columns stand apart from what was reported. Those with a
    `drop_order` may leave a narrow screen, all of one number together, the highest number first.
    """

    key: str
    header: str
    show: Callable[[Any], str] | None = None
    get: Callable[[Any], Any] | None = None
    unknown: Callable[[Any], str] = _dash
    predicted: bool = False
    drop_order: int = 0

    def value(self, row: Any) -> Any:
        return self.get(row) if self.get else getattr(row, self.key)

    def text(self, row: Any) -> str:
        value = self.value(row)
        if value is None:
            return self.unknown(row)
        return self.show(value) if self.show else str(value)


class Sheet(Struct, frozen=True, kw_only=True):
    """`notes` are lines that belong to single rows or to the whole sheet."""

    title: str = ""
    columns: tuple[Column, ...]
    rows: tuple[Any, ...]
    notes: tuple[str, ...] = ()


PROMPT = Column(key="prompt_tokens", header="prompt\ntokens", show=count)
CACHED = Column(key="cached_tokens", header="cached\ntokens", show=count, unknown=_not_reported)
EXPECTED = Column(key="expected_cached_tokens", header="expected\ntokens", show=count, predicted=True)
HIT_RATE = Column(key="hit_rate", header="hit\nrate %", show=percent)
TTFT = Column(key="ttft_ms", header="TTFT\nms", show=milliseconds)
STATE = Column(key="state", header="state")
PREFILL = Column(key="prefill_ms", header="prefill\nms", show=milliseconds, drop_order=1)

RUN = Column(key="run", header="run")
SESSION = Column(key="session", header="session", show=number)
TURN = Column(key="turn", header="turn", show=number)

PER_TURN = (
    TURN,
    Column(key="found", header="history found\n% (95 % interval)", show=share),
    Column(key="sessions", header="of\nsessions", show=number, get=lambda row: row.found.n if row.found else None),
    HIT_RATE,
    Column(key="ttft_p50_ms", header="TTFT p50\nms", show=milliseconds),
)

PAD = (Column(key="pad_tokens", header="padding\ntokens", show=count), PROMPT, CACHED, EXPECTED)

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
        unknown=_bench_not_reported,
    ),
    Column(key="hit_rate", header="hit\n%", show=percent, get=lambda row: row.row.hit_rate),
)

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

MODELS = (
    Column(key="id", header="model"),
    Column(key="context_tokens", header="context\ntokens", show=count, drop_order=1),
    Column(key="input_usd_per_mtok", header="input\n$/M tokens", show=dollars),
    Column(key="cached_usd_per_mtok", header="cached read\n$/M tokens", show=dollars),
    Column(key="written_usd_per_mtok", header="cache write\n$/M tokens", show=dollars),
    Column(key="output_usd_per_mtok", header="output\n$/M tokens", show=dollars, drop_order=1),
    Column(key="source", header="prices\nfrom", drop_order=1),
)

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

CHECKS = (
    Column(key="name", header="check"),
    Column(key="outcome", header="outcome"),
    Column(key="found", header="found"),
)

COST = (
    Column(key="model", header="model"),
    Column(key="provider", header="seller", drop_order=4),
    Column(key="calls", header="calls\nn", show=count),
    PROMPT,
    CACHED,
    Column(key="written_tokens", header="written\ntokens", show=count, drop_order=1),
    Column(key="output_tokens", header="output\ntokens", show=count, drop_order=2),
    HIT_RATE,
    Column(key="usd", header="bill\n$", show=amount),
    Column(key="usd_without_caching", header="without\ncaching $", show=amount),
    Column(key="usd_saved", header="saved\n$", show=amount),
    Column(key="write_premium_usd", header="write\npremium $", show=amount, drop_order=3),
    Column(key="unpriced_calls", header="unpriced\ncalls", show=count, drop_order=5),
)

PRICES = (
    Column(key="model", header="model"),
    Column(key="tier", header="tier", get=lambda row: row.tier or "standard", drop_order=4),
    Column(key="calls", header="calls\nn", show=count, drop_order=3),
    *MODELS[2:4],
    MODELS[4],
    Column(key="written_1h_usd_per_mtok", header="1 h write\n$/M tokens", show=dollars, drop_order=2),
    Column(key="output_usd_per_mtok", header="output\n$/M tokens", show=dollars),
    Column(key="source", header="prices\nfrom", drop_order=1),
)

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


class _BenchLine(Struct, frozen=True):
    target: str
    row: Any


def sheets(value: Value) -> list[Sheet]:
    """What people are shown."""
    if isinstance(value, TestResult):
        return _test_sheets(value)
    if isinstance(value, BenchResult):
        return _bench_sheets(value)
    if isinstance(value, Comparison):
        names = dict.fromkeys(call.run for call in value.calls)
        return [_compared_sheet(name, [call for call in value.calls if call.run == name]) for name in names]
    if isinstance(value, ModelList):
        return [Sheet(columns=MODELS, rows=value.models)]
    if isinstance(value, TargetList):
        return [Sheet(columns=TARGETS, rows=value.targets)] if len(value.targets) > 1 else []
    if isinstance(value, Diagnosis):
        return [Sheet(columns=CHECKS, rows=value.checks)]
    if isinstance(value, CostReport):
        return [Sheet(columns=COST, rows=value.models), *_price_sheets(value)]
    return [Sheet(columns=RUNS, rows=value.runs)]


def _test_sheets(result: TestResult) -> list[Sheet]:
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


def _bench_sheets(result: BenchResult) -> list[Sheet]:
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


def _price_sheets(report: CostReport) -> list[Sheet]:
    if not report.prices:
        return []
    notes = []
    for price in report.prices:
        notes += [
            f"{price.model}, prompts above {count(step.above_tokens)} tokens: input {dollars(step.input_usd_per_mtok)}"
            for step in price.above
            if step.input_usd_per_mtok is not None
        ]
        if price.derived:
            notes.append(f"{price.model}: write prices worked out from the input price, as the vendor documents them")
        if price.note:
            notes.append(f"{price.model}: {price.note}")
    return [Sheet(title="prices", columns=PRICES, rows=report.prices, notes=tuple(dict.fromkeys(notes)))]


def _compared_sheet(name: str, rows: Sequence[Any]) -> Sheet:
    many_sessions = len({row.session for row in rows}) > 1
    notes = tuple(
        (f"session {row.session} turn {row.turn}" if many_sessions else f"turn {row.turn}") + f": {row.text}"
        for row in rows
        if row.reason not in ("equal", "granularity")
    )
    columns = COMPARED if many_sessions else COMPARED[1:]
    return Sheet(title=name, columns=columns, rows=tuple(rows), notes=notes[:MOST_CALLS_SHOWN])


# --- records: one row a call, every column always, for machines --------------------------------------------------

_NOTE = Column(key="note", header="note")
_TOTAL = Column(key="total_ms", header="total\nms", show=milliseconds)
_OUTPUT = Column(key="output_tokens", header="output\ntokens", show=count)


class _Record(Struct, frozen=True):
    result: Any
    run: str
    row: Any
    part: Any = None


def _from_result(key: str) -> Column:
    return Column(key=key, header=key, get=lambda record: getattr(record.result, key))


def _from_row(column: Column) -> Column:
    return Column(
        key=column.key, header=column.header, show=column.show, get=lambda record: getattr(record.row, column.key, None)
    )


_RECORD = (_from_result("run_id"), _from_result("target"), _from_result("model"))

TEST_RECORD = (
    *_RECORD,
    Column(key="run", header="run"),
    *(_from_row(column) for column in (SESSION, TURN, PAD[0], PROMPT, CACHED, EXPECTED, HIT_RATE, TTFT, STATE)),
    *(_from_row(column) for column in (PREFILL, _TOTAL, _OUTPUT, _NOTE)),
)

BENCH_RECORD = (
    *_RECORD,
    Column(key="order", header="order", get=lambda record: record.part.order if record.part else None),
    Column(key="shape", header="shape", get=lambda record: record.part.shape if record.part else None),
    Column(key="call", header="call", show=number, get=lambda record: getattr(record.row, "call", None)),
    Column(key="role", header="role", get=lambda record: getattr(record.row, "role", "usage")),
    *(_from_row(column) for column in (PROMPT, CACHED, EXPECTED, HIT_RATE, TTFT, STATE, PREFILL, _TOTAL, _NOTE)),
)

COMPARE_RECORD = (
    Column(key="target_a", header="target A", get=lambda record: record.result.a.target),
    Column(key="target_b", header="target B", get=lambda record: record.result.b.target),
    *(_from_row(column) for column in (RUN, *COMPARED)),
    Column(key="short_by_tokens", header="short by\ntokens", show=count, get=lambda record: record.row.short_by_tokens),
    Column(key="text", header="text", get=lambda record: record.row.text),
)


_WHOLE = {
    "key_set": lambda row: None if row.key_set is None else str(row.key_set).lower(),
    "affinity": lambda row: ", ".join(row.affinity) or None,
}
TARGET_RECORD = tuple(
    Column(key=name, header=name, get=_WHOLE.get(name))
    for name in (*(column.key for column in TARGETS), "reports_cached", "start_command", "source")
)


def records(value: Value) -> Sheet:
    """What machines read: unfolded, in one sheet, with the same columns whatever the run held."""
    if isinstance(value, TestResult):
        made = [_Record(value, row.run, row) for row in value.turns]
        made += [_Record(value, "pad", row) for row in value.pad]
        return Sheet(columns=TEST_RECORD, rows=tuple(made))
    if isinstance(value, BenchResult):
        made = [_Record(value, "", call, row) for row in value.rows for call in row.calls]
        if value.usage_call is not None:
            made.append(_Record(value, "", value.usage_call))
        return Sheet(columns=BENCH_RECORD, rows=tuple(made))
    if isinstance(value, Comparison):
        return Sheet(columns=COMPARE_RECORD, rows=tuple(_Record(value, call.run, call) for call in value.calls))
    if isinstance(value, ModelList):
        return Sheet(columns=MODELS, rows=value.models)
    if isinstance(value, TargetList):
        return Sheet(columns=TARGET_RECORD, rows=value.targets)
    if isinstance(value, Diagnosis):
        return Sheet(columns=(*CHECKS, Column(key="advice", header="advice")), rows=value.checks)
    if isinstance(value, CostReport):
        return Sheet(columns=COST, rows=value.models)
    command = Column(key="command", header="command")
    finished = Column(key="finished", header="finished", get=lambda row: str(row.finished).lower())
    return Sheet(columns=(*RUNS[:-1], finished, command), rows=value.runs)
