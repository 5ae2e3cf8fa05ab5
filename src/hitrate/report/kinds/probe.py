"""`probe`: one row a question, the documented value beside the answer."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from hitrate.core.probe_results import Answer, Observation, ProbeResult
from hitrate.core.results import Expectation
from hitrate.report.columns import RUN_RECORD, Column, Record, Sheet, amount, count, from_row
from hitrate.report.words import Line, common_lines

TYPE = ProbeResult


def title(result: ProbeResult) -> str:
    run = f"run {result.run_id}" if result.run_id else None
    return " · ".join(part for part in (result.kind, result.target, result.model, result.started_at, run) if part)


def _short(answer: Answer) -> str:
    if answer.status != "answered":
        return answer.status
    choice = answer.choice or ""
    if answer.value is None or (choice and answer.probe in ("honesty", "minimum") and choice != "at most"):
        return choice
    return f"{choice} {_amount(answer.value, answer.unit or '')}".strip()


def _amount(value: float, unit: str) -> str:
    one = value == 1 and len(unit) > 1
    return f"{_figure(value)} {unit.removesuffix('s') if one else unit}"


def _figure(value: float) -> str:
    return f"{value:,.4g}" if value < 10_000 else f"{value:,.0f}"


def _sure(answer: Answer) -> str | None:
    if answer.status != "answered":
        return None
    if answer.p_value is not None:
        return f"p = {answer.p_value:.2g}"
    interval = "95 %" if answer.bounds == "interval" else ""
    if answer.low == answer.high:
        return interval or None
    if answer.high is None:
        bounds = f"{_figure(answer.low or 0)} or more"
    elif answer.low is None:
        bounds = f"up to {_figure(answer.high)}"
    else:
        bounds = f"{_figure(answer.low)} to {_figure(answer.high)}"
    return f"{interval} {bounds}".strip()


def _agrees(answer: Answer) -> str | None:
    return None if answer.agrees is None else ("agrees" if answer.agrees else "differs")


ANSWERS = (
    Column(key="probe", header="probe"),
    Column(key="subject", header="of", get=lambda answer: answer.subject or None),
    Column(key="answer", header="measured", get=_short),
    Column(key="sure", header="how sure", get=_sure),
    Column(key="documented", header="documented", predicted=True),
    Column(key="agrees", header="agreement", get=_agrees),
    Column(key="basis", header="by", drop_order=2),
    Column(key="calls", header="calls", show=count, get=lambda answer: answer.calls or None, drop_order=1),
    Column(key="cost_usd", header="$", show=amount, drop_order=1),
)

_OF_THE_ANSWER = (
    *("probe", "subject", "status", "choice", "value", "unit", "low", "high", "bounds", "p_value"),
    *("basis", "documented", "agrees", "text", "advice"),
)
_OF_THE_CALL = ("role", "prompt_tokens", "cached_tokens", "ttft_ms", "age_s", "found", "error")


def _from_answer(key: str) -> Column:
    return Column(key=key, header=key, get=lambda record: getattr(record.part, key, None))


PROBE_RECORD = (
    *RUN_RECORD,
    *map(_from_answer, _OF_THE_ANSWER),
    *(from_row(Column(key=key, header=key)) for key in _OF_THE_CALL),
)
"""One row a call; an answer without calls of its own has one row without them."""


def sheets(result: ProbeResult) -> list[Sheet]:
    return [Sheet(columns=ANSWERS, rows=result.answers)]


class _NoCall(Struct, frozen=True):
    """Stands where an answer made no call."""


def records(result: ProbeResult) -> Sheet:
    rows: list[Record] = []
    for answer in result.answers:
        calls: tuple[Observation | _NoCall, ...] = answer.observations or (_NoCall(),)
        rows += [Record(result, "", call, answer) for call in calls]
    return Sheet(columns=PROBE_RECORD, rows=tuple(rows))


def lines(result: ProbeResult) -> list[Line]:
    return list(_lines(result))


def _lines(result: ProbeResult) -> Iterator[Line]:
    for answer in result.answers:
        advice = "" if answer.advice is None else f" Try: {answer.advice}."
        yield Line("note", f"{answer.probe}: {answer.text}{advice}")
    told = sum(answer.status == "answered" for answer in result.answers)
    open_ = sum(answer.status == "could not tell" for answer in result.answers)
    differ = [answer.probe for answer in result.answers if answer.agrees is False]
    text = f"{told} answered, {open_} could not be told"
    if differ:
        text += f"; differs from what is documented: {', '.join(dict.fromkeys(differ))}"
    yield Line("verdict", f"{text}.")
    yield Line(
        "aggregate",
        f"{count(result.calls)} calls (of at most {count(result.most_calls)}), {count(result.prompt_tokens)} prompt "
        f"tokens, {count(result.failed)} failed calls",
    )
    if result.rule_set is not None:
        dated = f", {result.rule_date}" if result.rule_date else ""
        yield Line("expectation", f"documented: {result.rule_set}{dated}; {result.rule_source}")
    elif result.rule_source:
        dated = f", {result.rule_date}" if result.rule_date else ""
        yield Line("expectation", f"no cache rule is documented; {result.rule_source}{dated}")
    for line in common_lines(Expectation(), result.measurement, result.cost_usd, result.warnings):
        if line.kind != "expectation":
            yield line
