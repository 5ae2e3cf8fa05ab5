"""`calibrate`: what a step costs, and how far predictions are from what was measured."""

from __future__ import annotations

from collections.abc import Iterator

from hitrate.core.calibration_results import CalibrateResult, FittedCost, PredictionError
from hitrate.core.numerals import counted
from hitrate.report.columns import Column, Sheet, count
from hitrate.report.words import Line

TYPE = CalibrateResult

_GOOD = 0.1
"""Beyond it a plan would be off by as much."""

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def duration(value: float) -> str:
    """Three digits, in the unit that suits."""
    size, unit = next(((size, unit) for size, unit in _UNITS if value >= size), _UNITS[-1])
    return f"{value / size:,.3g} {unit}" if value else "0"


def seconds(value: float) -> str:
    return f"{value:,.3f}"


def off(value: float) -> str:
    return f"{100 * value:+.1f}"


def _known(cost: FittedCost) -> str | None:
    if not cost.determined:
        return "not determined"
    return None if cost.low is None or cost.high is None else f"{duration(cost.low)} to {duration(cost.high)}"


def _error(error: PredictionError) -> str:
    return f"{100 * error.error:.1f}" if error.statistic == "one request" else off(error.error)


COSTS = (
    Column(key="text", header="what it is for"),
    Column(key="seconds", header="costs", show=duration),
    Column(key="known", header="95 %", get=_known),
)

ERRORS = (
    Column(key="part", header="requests"),
    Column(key="figure", header="figure"),
    Column(key="statistic", header="statistic"),
    Column(key="n", header="n", show=count, drop_order=1),
    Column(key="measured_s", header="measured\ns", show=seconds),
    Column(key="predicted_s", header="predicted\ns", show=seconds, predicted=True),
    Column(key="error", header="off by\n%", get=_error),
)

RECORDS = tuple(Column(key=name, header=name) for name in PredictionError.__struct_fields__)


def title(result: CalibrateResult) -> str:
    return f"calibrate · {result.measured} · {result.format}, {counted(result.requests, 'request')}"


def sheets(result: CalibrateResult) -> list[Sheet]:
    return [
        Sheet(title="seconds of a step", columns=COSTS, rows=result.costs),
        Sheet(title="predicted beside measured", columns=ERRORS, rows=result.errors),
    ]


def records(result: CalibrateResult) -> Sheet:
    return Sheet(columns=RECORDS, rows=result.errors)


def lines(result: CalibrateResult) -> list[Line]:
    return list(_lines(result))


def _lines(result: CalibrateResult) -> Iterator[Line]:
    yield Line("verdict", verdict(result))
    yield Line("measurement", f"engine: {', '.join(_limits(result))}")
    yield Line(
        "measurement",
        f"fitted to {counted(result.fitted_requests, 'request')}, {count(result.queued_requests)} of which had to wait "
        f"for others; {count(result.held_out_requests)} held out; {counted(result.simulations, 'simulation')}; prompts "
        f"of up to {count(result.longest_prompt_tokens)} tokens, what is predicted of longer ones is an extrapolation",
    )
    if warning := doubt(result):
        yield Line("warning", warning)
    yield from (Line("note", note) for note in result.notes)


def _limits(result: CalibrateResult) -> Iterator[str]:
    requests = counted(result.max_running_requests, "request")
    yield f"at most {requests} and {counted(result.max_batched_tokens, 'token')} a step"
    if result.kv_capacity_tokens is None:
        yield "no limit of KV memory"
    else:
        yield f"KV memory of {count(result.kv_capacity_tokens)} tokens"
    yield "prompts in chunks" if result.chunked_prefill else "prompts in one step each"
    yield (
        "a step decided while the one before runs" if result.scheduled_ahead else "a step decided after the one before"
    )


def doubt(result: CalibrateResult) -> str | None:
    """Where what was held out is predicted badly."""
    named = [error for error in result.errors if error.part == "held out" and error.statistic in ("mean", "p99")]
    if all(abs(error.error) <= _GOOD for error in named):
        return None
    return (
        f"predictions are off by more than {100 * _GOOD:.0f} %: this engine does not work like the model, its settings "
        "are others, or there are too few requests; do not plan by it"
    )


def verdict(result: CalibrateResult) -> str:
    parts = [error for error in result.errors if error.figure == "ttft"]
    held = [error for error in parts if error.part == "held out"]
    name = "requests it was not fitted to" if held else "the requests it was fitted to"
    told = ", ".join(f"{error.statistic} {off(error.error)} %" for error in held or parts if error.measured_s)
    return f"time to first token of {name}: {told}"
