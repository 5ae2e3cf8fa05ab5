"""What a calibration looks like in every format."""

from __future__ import annotations

import csv
import io

import pytest
from msgspec.structs import replace

from hitrate.core.calibration_results import CalibrateResult, FittedCost, PredictionError
from hitrate.report.formats import render
from hitrate.report.kinds.calibrate import duration


def error(part: str, statistic: str, off: float, measured_s: float | None = 2.0) -> PredictionError:
    predicted_s = None if measured_s is None else measured_s * (1 + off)
    return PredictionError(
        part=part,
        figure="ttft",
        statistic=statistic,
        n=20,
        measured_s=measured_s,
        predicted_s=predicted_s,
        error=off,
    )


RESULT = CalibrateResult(
    measured="runs/[a]",
    format="llmservingsim-run",
    requests=40,
    fitted_requests=20,
    held_out_requests=20,
    queued_requests=3,
    longest_prompt_tokens=900,
    costs=(
        FittedCost(name="step_s", text="a step", seconds=0.0121, low=0.0117, high=0.0125, determined=True),
        FittedCost(
            name="prefill_context_s", text="a pair of tokens", seconds=0.0, low=None, high=None, determined=False
        ),
    ),
    max_running_requests=128,
    max_batched_tokens=2048,
    kv_capacity_tokens=41_408,
    chunked_prefill=True,
    scheduled_ahead=True,
    errors=(
        error("fitted", "mean", 0.01),
        error("held out", "mean", -0.025),
        error("held out", "p99", 0.05),
        error("held out", "one request", 0.031, None),
    ),
    simulations=210,
    notes=("nothing special",),
)

TABLE = """\
calibrate · runs/[a] · llmservingsim-run, 40 requests

seconds of a step
what it is for      costs  95 %
─────────────────────────────────────────────
a step            12.1 ms  11.7 ms to 12.5 ms
a pair of tokens        0  not determined

predicted beside measured
                                   measured  │  predicted  off by
requests  figure  statistic     n         s  │          s  %
─────────────────────────────────────────────────────────────────
fitted    ttft    mean         20     2.000  │      2.020  +1.0
held out  ttft    mean         20     2.000  │      1.950  -2.5
held out  ttft    p99          20     2.000  │      2.100  +5.0
held out  ttft    one request  20         –  │          –  3.1

time to first token of requests it was not fitted to: mean -2.5 %, p99 +5.0 %
engine: at most 128 requests and 2,048 tokens a step, KV memory of 41,408 tokens, prompts in chunks, a step decided
while the one before runs
fitted to 20 requests, 3 of which had to wait for others; 20 held out; 210 simulations; prompts of up to 900 tokens,
what is predicted of longer ones is an extrapolation
nothing special
"""


def shown(result: CalibrateResult, output: str) -> str:
    out = io.StringIO()
    render(result, output, out, width=120) if output == "table" else render(result, output, out)
    return out.getvalue()


def test_a_calibration_as_a_table() -> None:
    assert shown(RESULT, "table") == TABLE


def test_csv_has_the_errors() -> None:
    rows = list(csv.DictReader(io.StringIO(shown(RESULT, "csv"))))

    assert [(row["part"], row["statistic"], row["measured_s"], row["error"]) for row in rows] == [
        ("fitted", "mean", "2.0", "0.01"),
        ("held out", "mean", "2.0", "-0.025"),
        ("held out", "p99", "2.0", "0.05"),
        ("held out", "one request", "", "0.031"),
    ]


@pytest.mark.parametrize(("off", "warned"), [(0.1, False), (-0.11, True)])
def test_bad_predictions_are_warned_of(off: float, warned: bool) -> None:
    result = replace(RESULT, errors=(error("fitted", "mean", 0.5), error("held out", "p99", off)))

    assert ("do not plan by it" in shown(result, "table")) is warned


def test_where_nothing_was_held_out_the_fit_is_named() -> None:
    result = replace(RESULT, errors=(error("fitted", "mean", 0.5),))

    assert "time to first token of the requests it was fitted to: mean +50.0 %" in shown(result, "markdown")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(12.3456, "12.3 s"), (0.5, "500 ms"), (3.4644e-5, "34.6 µs"), (8.1e-8, "81 ns"), (1.6e-11, "0.016 ns"), (0, "0")],
)
def test_seconds_in_the_unit_that_suits(seconds: float, text: str) -> None:
    assert duration(seconds) == text
