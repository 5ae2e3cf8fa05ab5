"""What sheets are made of: columns, how their figures are written, and the columns that several kinds share.

Each kind of value has its own sheets in `hitrate.report.kinds`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from hitrate.core.money import in_dollars, plain
from hitrate.core.results import Interval

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
    return plain(value)


def amount(value: float) -> str:
    return in_dollars(value)


def share(value: Interval) -> str:
    return f"{percent(value.estimate)} ({percent(value.low)}–{percent(value.high)})"


def dash(_row: Any) -> str:
    return "–"


def not_reported(row: Any) -> str:
    return "–" if getattr(row, "state", "") == "failed" else "not reported"


class Column(Struct, frozen=True, kw_only=True):
    """`key` is the name in CSV, as in JSON; `header` is for people, unit on its second line.

    `show` makes text of a known value, `unknown` of a row without one. Text columns (`show` is None) hold text that
    others may have written. `predicted` columns stand apart from what was reported; where a column holds both kinds of
    figures, `estimated` tells the rows whose figure was not reported. Those with a `drop_order` may leave a narrow
    screen, all of one number together, the highest number first.
    """

    key: str
    header: str
    show: Callable[[Any], str] | None = None
    get: Callable[[Any], Any] | None = None
    unknown: Callable[[Any], str] = dash
    predicted: bool = False
    estimated: Callable[[Any], bool] | None = None
    drop_order: int = 0

    def value(self, row: Any) -> Any:
        return self.get(row) if self.get else getattr(row, self.key)

    def is_estimate(self, row: Any) -> bool:
        return self.estimated is not None and self.value(row) is not None and self.estimated(row)

    def text(self, row: Any) -> str:
        value = self.value(row)
        if value is None:
            return self.unknown(row)
        text = self.show(value) if self.show else str(value)
        return f"≈ {text}" if self.is_estimate(row) else text


class Sheet(Struct, frozen=True, kw_only=True):
    """`notes` are lines that belong to single rows or to the whole sheet."""

    title: str = ""
    columns: tuple[Column, ...]
    rows: tuple[Any, ...]
    notes: tuple[str, ...] = ()


PROMPT = Column(key="prompt_tokens", header="prompt\ntokens", show=count)
CACHED = Column(key="cached_tokens", header="cached\ntokens", show=count, unknown=not_reported)
EXPECTED = Column(key="expected_cached_tokens", header="expected\ntokens", show=count, predicted=True)
HIT_RATE = Column(key="hit_rate", header="hit\nrate %", show=percent)
TTFT = Column(key="ttft_ms", header="TTFT\nms", show=milliseconds)
STATE = Column(key="state", header="state")
PREFILL = Column(key="prefill_ms", header="prefill\nms", show=milliseconds, drop_order=1)

RUN = Column(key="run", header="run")
SESSION = Column(key="session", header="session", show=number)
TURN = Column(key="turn", header="turn", show=number)


INPUT_PRICE = Column(key="input_usd_per_mtok", header="input\n$/M tokens", show=dollars)
CACHED_PRICE = Column(key="cached_usd_per_mtok", header="cached read\n$/M tokens", show=dollars)
WRITTEN_PRICE = Column(key="written_usd_per_mtok", header="cache write\n$/M tokens", show=dollars)


# --- records: one row a call, every column always, for machines --------------------------------------------------

NOTE = Column(key="note", header="note")
TOTAL = Column(key="total_ms", header="total\nms", show=milliseconds)
OUTPUT = Column(key="output_tokens", header="output\ntokens", show=count)


class Record(Struct, frozen=True):
    """A row of a result, with what belongs to the whole result beside it."""

    result: Any
    run: str
    row: Any
    part: Any = None


def from_result(key: str) -> Column:
    return Column(key=key, header=key, get=lambda record: getattr(record.result, key))


def from_row(column: Column) -> Column:
    return Column(
        key=column.key, header=column.header, show=column.show, get=lambda record: getattr(record.row, column.key, None)
    )


RUN_RECORD = (from_result("run_id"), from_result("target"), from_result("model"))
