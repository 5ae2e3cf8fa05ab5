"""Timings in files."""

from __future__ import annotations

from pathlib import Path

import pytest

from hitrate.core.calibration_results import CalibrateResult, FittedCost, PredictionError
from hitrate.errors import InputFileError, UsageError
from hitrate.sim.timing.engine_timing import COSTS, EngineTiming
from hitrate.timings import load_timing, read_timing, timing_names, timing_toml

RESULT = CalibrateResult(
    measured='runs/a "b"\ud800',
    format="llmservingsim-run",
    requests=40,
    fitted_requests=20,
    held_out_requests=20,
    queued_requests=3,
    longest_prompt_tokens=900,
    costs=tuple(
        FittedCost(
            name=name, text=text, seconds=number / 64, low=None, high=None, determined=name != "prefill_context_s"
        )
        for number, (name, text) in enumerate(COSTS.items(), 1)
    ),
    max_running_requests=128,
    max_batched_tokens=2048,
    kv_capacity_tokens=None,
    chunked_prefill=True,
    scheduled_ahead=False,
    errors=(
        PredictionError(
            part="held out", figure="ttft", statistic="one request", n=20, measured_s=None, predicted_s=None, error=0.03
        ),
    ),
    simulations=9,
)


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "timing.toml"
    file.write_text(timing_toml(RESULT), encoding="utf-8")

    assert load_timing(str(file)) == EngineTiming(
        step_s=1 / 64,
        prefill_step_s=2 / 64,
        prefill_token_s=3 / 64,
        prefill_context_s=4 / 64,
        sequence_s=5 / 64,
        context_token_s=6 / 64,
        max_running_requests=128,
        scheduled_ahead=False,
    )


def test_set_ups_that_come_with_it() -> None:
    assert timing_names() == ["rtx-pro-6000-llama-3.1-8b"]
    assert all(load_timing(name).prefill_token_s > 0 for name in timing_names())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[timing", "not TOML"),
        ("step_s = 1", r"has no table \[timing\]; write one with: hitrate calibrate MEASURED -o FILE"),
        ("[timing]\nstep = 1", r"\[timing\] has no step; did you mean step_s"),
        ("[timing]\nstep_s = 1", r"\[timing\]: .*missing required field `prefill_token_s`"),
        ("[timing]\nstep_s = '1'\nprefill_token_s = 1", r"\[timing\]: Expected `float`, got `str`"),
        ("[timing]\nstep_s = -1\nprefill_token_s = 1", r"\[timing\]: .*step_s is -1.0; expected a number of seconds"),
        ("[timing]\nstep_s = nan\nprefill_token_s = 1", r"step_s is nan"),
        ("[timing]\nstep_s = 1\nprefill_token_s = 1\nmax_batched_tokens = 9", "each of the 256 running requests takes"),
        ("[timing]\nstep_s = 1\nprefill_token_s = 1\nkv_capacity_tokens = 0", "kv_capacity_tokens is 0"),
    ],
)
def test_files_that_are_no_timing(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "timing.toml"
    file.write_text(text)
    with pytest.raises(InputFileError, match=said):
        load_timing(str(file))


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"\xff\xfe")
    with pytest.raises(InputFileError, match="not TOML"):
        load_timing(str(tmp_path / "t"))


def test_a_name_that_there_is_not() -> None:
    with pytest.raises(UsageError, match=r"set-ups: .*; did you mean 'rtx-pro-6000-llama-3\.1-8b'"):
        load_timing("rtx-pro-6000-llama")


def test_the_longest_prompt_that_was_measured(tmp_path: Path) -> None:
    file = tmp_path / "timing.toml"
    file.write_text("[timing]\nstep_s = 1.0\nprefill_token_s = 1.0\n")

    assert read_timing("rtx-pro-6000-llama-3.1-8b").longest_prompt_tokens == 3998
    assert read_timing(str(file)).longest_prompt_tokens is None
