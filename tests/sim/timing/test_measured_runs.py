"""A real engine's run that is not in the repository, predicted from its first half: HITRATE_TRACES names the folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hitrate.calibrating import calibrate_run
from hitrate.logs.traces.measured import read_measured

TRACES = os.environ.get("HITRATE_TRACES", "")


@pytest.mark.skipif(not TRACES, reason="HITRATE_TRACES is not set")
@pytest.mark.parametrize("share", [0.5, 0.25])
def test_times_of_vllm_on_an_rtx_pro_6000(share: float) -> None:
    """vLLM 0.19 over 300 ShareGPT requests at 10 a second, 128 at a time: from its first half, and from its first
    quarter, in which nobody has to queue yet. LLMServingSim itself is off by -4.0 % in the mean and -2.0 % at p99."""
    run = read_measured(str(Path(TRACES) / "vllm_measured" / "RTXPRO6000_Llama-3.1-8B"))
    assert run is not None

    found = calibrate_run(run, {}, share)

    assert (found.requests, found.fitted_requests) == (300, round(300 * share))
    held = {error.statistic: error for error in found.errors if (error.part, error.figure) == ("held out", "ttft")}
    for statistic in ("mean", "p50", "p90", "p99"):
        assert held[statistic].error == pytest.approx(0, abs=0.1), statistic
    if share == 0.5:
        assert held["mean"].measured_s == pytest.approx(13.07, abs=0.01)
        assert held["p99"].measured_s == pytest.approx(20.06, abs=0.01)
