"""`hitrate calibrate` on a run whose engine is known, for it was simulated."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from hitrate.core.measured import MeasuredRequest
from hitrate.sim.timing.calibrate import run as served
from hitrate.sim.timing.engine import Engine
from hitrate.sim.timing.engine_timing import EngineTiming
from hitrate.timings import load_timing

TRUE = EngineTiming(step_s=0.02, prefill_token_s=1e-4, sequence_s=1e-3, max_running_requests=8, max_batched_tokens=256)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty requests, as LLMServingSim notes them down."""
    draw = random.Random(3)
    now, asked = 0.0, []
    for _ in range(60):
        now += draw.expovariate(5)
        asked.append(MeasuredRequest(now, draw.choice((100, 400, 900)), None, draw.randint(2, 60), None, None))
    moments = served(asked, Engine(TRUE))
    rows = [
        {
            "input_toks": request.prompt_tokens,
            "output_toks": request.output_tokens,
            "arrival_time": request.arrived_s,
            "queued_ts": request.arrived_s,
            "first_token_ts": first,
            "last_token_ts": end,
        }
        for request, first, end in zip(asked, moments.first_token, moments.end, strict=True)
    ]
    folder = tmp_path_factory.mktemp("run")
    (folder / "requests.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


LIMITS = ("--engine-config", "max-running=8,max-batched=256")


def test_a_run_becomes_a_timing_that_predicts_the_rest_of_it(hitrate, measured: Path) -> None:
    ran = hitrate("calibrate", measured, *LIMITS, "-o", "timing.toml", "--json")

    found = ran.json
    assert (found["requests"], found["fitted_requests"], found["held_out_requests"]) == (60, 30, 30)
    assert found["max_running_requests"] == 8
    held = {error["statistic"]: error["error"] for error in found["errors"] if error["part"] == "held out"}
    assert max(map(abs, held.values())) < 0.02
    timing = load_timing("timing.toml")
    assert timing.prefill_token_s == pytest.approx(TRUE.prefill_token_s, rel=0.1)
    assert (timing.max_running_requests, timing.max_batched_tokens) == (8, 256)
    assert "timing written to timing.toml" in ran.err


def test_a_table_says_what_is_not_determined_and_what_was_assumed(hitrate, measured: Path) -> None:
    out = " ".join(hitrate("calibrate", measured, "--fit", "100%").out.split())

    assert "a prompt token, for each token in front of it 0 not determined" in out
    assert "max_running_requests and max_batched_tokens are vLLM's defaults, for the run does not say" in out
    assert "nothing was held out" in out
    assert "held out ttft" not in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--fit", "0%"), "expected a share like 50%"),
        (("--fit", "half"), "expected a share like 50%; got 'half'"),
        (("--engine-config", "batch=3"), "no setting is called 'batch'; known: max-running"),
        (("--engine-config", "max-running=many"), "max-running is 'many'; expected a whole number above 0"),
        (("--engine-config", "chunked-prefill=2"), "chunked-prefill is '2'; expected yes or no"),
        (("--engine-config", "max-running=9000"), "max_batched_tokens is 2048; each of the 9000 running requests"),
        (("--engine-config", "kv-tokens=500"), "give the settings it ran with"),
        (("--fit", "20%"), "12 of the 12 requests to be fitted have a known time to first token; a fit needs 20"),
    ],
)
def test_what_cannot_be_fitted(hitrate, measured: Path, options: tuple[str, ...], said: str) -> None:
    ran = hitrate("calibrate", measured, *options)

    assert said in " ".join(ran.err.split())
    assert (ran.code, ran.out) == (2, "")


def test_a_page_of_it(hitrate, measured: Path) -> None:
    hitrate("calibrate", measured, *LIMITS, "--html", "page.html")

    assert "off in the mean time to first token, held out" in Path("page.html").read_text()
