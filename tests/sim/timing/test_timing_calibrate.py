"""Costs found again from what an engine with those costs did, and said to be unknown where nothing tells."""

from __future__ import annotations

import random
from math import exp

import pytest
from msgspec.structs import replace

from hitrate.core.measured import MeasuredRequest
from hitrate.errors import UsageError
from hitrate.sim.timing.calibrate import FEWEST, Calibration, calibrate, run
from hitrate.sim.timing.engine import Engine
from hitrate.sim.timing.engine_timing import EngineTiming

LIMITS = EngineTiming(step_s=1, prefill_token_s=0, max_running_requests=16, max_batched_tokens=512)
TRUE = replace(LIMITS, step_s=0.01, prefill_step_s=0.004, prefill_token_s=5e-5, sequence_s=2e-4, context_token_s=2e-7)


def measured(count: int, gap_s: float, noise: float, *, outputs: int = 300) -> list[MeasuredRequest]:
    """What an engine with these costs takes, give or take, for requests at random moments."""
    draw = random.Random(7)
    now, asked = 0.0, []
    for _ in range(count):
        now += draw.expovariate(1 / gap_s)
        prompt = draw.choice((200, 1_000, 4_000))
        asked.append(MeasuredRequest(now, prompt, draw.choice((0, prompt // 2)), draw.randint(1, outputs), None, None))
    moments = run(asked, Engine(TRUE))
    made = []
    for request, first, end in zip(asked, moments.first_token, moments.end, strict=True):
        ttft = (first - request.arrived_s) * exp(draw.gauss(0, noise))
        made.append(request._replace(ttft_s=ttft, total_s=ttft + (end - first) * exp(draw.gauss(0, noise))))
    return made


def errors(found: Calibration, part: str, figure: str) -> dict[str, float]:
    return {error.statistic: error.error for error in found.errors if (error.part, error.figure) == (part, figure)}


def test_costs_are_found_again() -> None:
    found = calibrate(measured(100, 0.15, 0.02), LIMITS)

    told = {cost.name: (cost.seconds, cost.determined) for cost in found.costs}
    for name in ("step_s", "prefill_token_s", "sequence_s", "context_token_s"):
        assert told[name] == (pytest.approx(getattr(TRUE, name), rel=0.2), True), name
    assert told["prefill_context_s"] == (0.0, False)
    assert errors(found, "held out", "ttft")["mean"] == pytest.approx(0, abs=0.04)
    assert errors(found, "held out", "end to end")["p99"] == pytest.approx(0, abs=0.04)
    assert found.fitted == 50


def test_the_half_that_is_held_out_is_not_looked_at() -> None:
    requests = measured(80, 0.3, 0.02)
    other = [*requests[:40], *(one._replace(ttft_s=99.0, total_s=999.0) for one in requests[40:])]

    assert calibrate(requests, LIMITS).timing == calibrate(other, LIMITS).timing


def test_replies_of_one_token_say_nothing_of_decoding() -> None:
    found = calibrate(measured(60, 0.5, 0.02, outputs=1), LIMITS, 1.0)

    told = {cost.name: cost for cost in found.costs}
    assert told["prefill_token_s"].seconds == pytest.approx(TRUE.prefill_token_s, rel=0.1)
    assert not told["sequence_s"].determined and not told["context_token_s"].determined
    assert {error.part for error in found.errors} == {"fitted"}


@pytest.mark.parametrize(("gap_s", "some"), [(0.05, True), (3.0, False)])
def test_it_is_said_whether_anyone_had_to_queue(gap_s: float, some: bool) -> None:
    assert (calibrate(measured(40, gap_s, 0.0), LIMITS, 1.0).queued > 0) is some


def test_too_few_requests() -> None:
    with pytest.raises(UsageError, match=f"19 of the 19 requests to be fitted .* a fit needs {FEWEST}"):
        calibrate(measured(38, 1.0, 0.0), LIMITS)


def test_settings_that_the_engine_cannot_have_had() -> None:
    with pytest.raises(UsageError, match="was served, which an engine with these settings refuses"):
        calibrate(measured(40, 1.0, 0.0), replace(LIMITS, kv_capacity_tokens=2_000))
