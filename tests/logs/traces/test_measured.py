"""Runs of real engines, read for a calibration."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from trace_files import lines

from hitrate.core.measured import MeasuredRequest
from hitrate.core.model import Call, Timing, Usage
from hitrate.errors import InputFileError
from hitrate.logs.traces.measured import measured_calls, read_measured


def row(number: int, at: float, queued: float, first: float | None, last: float | None, tokens: int = 20) -> Any:
    return {
        "request_id": f"bench-{number}",
        "input_toks": tokens,
        "output_toks": 3,
        "arrival_time": 1000.0 + at,
        "queued_ts": 50.0 + queued,
        "scheduled_ts": 50.0 + queued,
        "first_token_ts": None if first is None else 50.0 + first,
        "last_token_ts": None if last is None else 50.0 + last,
    }


ROWS = [row(0, 0.0, 0.25, 0.75, 1.25), row(1, 0.5, 0.5, 1.0, 2.0), row(2, 1.0, 1.5, None, None)]
PROMPTS = [list(range(20)), [*range(16), 99, 99, 99, 99], list(range(20))]


def run_in(folder: Path, rows: list[Any], meta: Any = None, prompts: list[list[int]] | None = None) -> Path:
    run = folder / "bench" / "run"
    run.mkdir(parents=True)
    (run / "requests.jsonl").write_bytes(lines(*rows))
    if meta is not None:
        (run / "meta.json").write_text(json.dumps(meta))
    if prompts is not None:
        asked = [
            {"input_toks": 20, "output_toks": 3, "arrival_time_ns": number, "input_tok_ids": ids}
            for number, ids in enumerate(prompts)
        ]
        (folder / "prompts.jsonl.gz").write_bytes(gzip.compress(lines(*asked)))
    return run


def test_times_are_since_the_arrival_with_the_clocks_set_by_the_quickest(tmp_path: Path) -> None:
    """The second request was at the engine at once, the first after 0.25 s."""
    run = read_measured(str(run_in(tmp_path, ROWS)))

    assert run is not None
    assert run.requests == (
        MeasuredRequest(0.0, 20, None, 3, 0.75, 1.25),
        MeasuredRequest(0.5, 20, None, 3, 0.5, 1.5),
        MeasuredRequest(1.0, 20, None, 3, None, None),
    )
    assert run.blocks is None and run.settings == {}
    assert "what was cached is not known" in run.notes[0]


def test_settings_and_prompts_are_those_that_the_run_names(tmp_path: Path) -> None:
    meta = {
        "engine_kwargs": {"max_num_seqs": 64, "max_num_batched_tokens": 2048, "max_model_len": None},
        "dataset_path": "workloads/prompts.jsonl",
        "kv_cache": {"num_kv_tokens": 41408},
        "resolved_config": {"scheduler_config": {"async_scheduling": True, "enable_chunked_prefill": True}},
    }
    run = read_measured(str(run_in(tmp_path, ROWS, meta, PROMPTS)))

    assert run is not None and run.blocks is not None
    assert run.settings == {
        "max_running_requests": 64,
        "max_batched_tokens": 2048,
        "kv_capacity_tokens": 41408,
        "chunked_prefill": True,
        "scheduled_ahead": True,
    }
    assert list(run.blocks[0].ids) == [0, 1, 0, 2, 0, 1]
    assert run.notes == ()


def test_what_cannot_be_used_is_counted(tmp_path: Path) -> None:
    odd = [*ROWS, {"request_id": "x"}, row(4, 2, 2, 3, 4, tokens=0), row(5, 0.1, 0.6, 0.8, 0.9)]
    run = read_measured(str(run_in(tmp_path, odd) / "requests.jsonl"))

    assert run is not None
    assert run.left_out == 2
    assert [request.arrived_s for request in run.requests] == pytest.approx([0.0, 0.1, 0.5, 1.0])


@pytest.mark.parametrize(
    ("meta", "prompts", "said"),
    [
        ({"engine_kwargs": {"data_parallel_size": 2}}, None, "served by 2 engines"),
        ({"dataset_path": "prompts.jsonl"}, PROMPTS[:2], "its 2 prompts are not those of the run's 3 requests"),
        ({"dataset_path": "prompts.jsonl"}, [[1], [2], [3]], "its 3 prompts are not those of the run's 3 requests"),
    ],
    ids=["two engines", "another number", "other lengths"],
)
def test_runs_that_cannot_be_calibrated_on(tmp_path: Path, meta: Any, prompts: Any, said: str) -> None:
    run = run_in(tmp_path, ROWS, meta, prompts)
    with pytest.raises(InputFileError, match=said):
        read_measured(str(run))


def test_settings_that_are_not_json(tmp_path: Path) -> None:
    run = run_in(tmp_path, ROWS)
    (run / "meta.json").write_text("{")
    with pytest.raises(InputFileError, match=r"meta\.json: not JSON"):
        read_measured(str(run))


def test_nothing_that_was_served(tmp_path: Path) -> None:
    run = run_in(tmp_path, [{"queued_ts": 1, "first_token_ts": 2}])
    with pytest.raises(InputFileError, match="none of its 1 lines is a request that was served"):
        read_measured(str(run))


@pytest.mark.parametrize("data", [b'{"timestamp": 1}\n', b"", b"\x00\x01"])
def test_other_files_are_left_to_others(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "log").write_bytes(data)
    assert read_measured(str(tmp_path / "log")) is None
    assert read_measured(str(tmp_path / "nothing")) is None


# Calls


def call(at: float, usage: Usage, *, error: str | None = None, reads: int = 1) -> Call:
    timing = Timing(at=at, sent_at_s=0.0, ttft_s=0.5, total_s=1.5, first_read_tokens=reads)
    return Call(target="t", dialect="openai", body=b"{}", usage=usage, timing=timing, error=error)


KNOWN = Usage(prompt_tokens=100, cached_tokens=64, output_tokens=5)


def test_calls_in_the_order_they_were_sent() -> None:
    late = call(9.0, Usage(prompt_tokens=50, output_tokens=5), reads=2)
    run = measured_calls("log", "openai", [late, call(7.0, KNOWN), call(8.0, KNOWN, error="cut off")])

    assert run.requests == (
        MeasuredRequest(0.0, 100, 64, 5, 0.5, 1.5),
        MeasuredRequest(1.0, 100, 64, 5, None, None),
        MeasuredRequest(2.0, 50, None, 5, 0.5, 1.5),
    )
    assert run.notes == (
        "1 of 3 calls do not say what was cached; taken for nothing",
        "1 times to first token are upper bounds: more than one token came at once",
    )


def test_calls_without_times_or_counts_are_left_out() -> None:
    untimed = Call(target="t", dialect="openai", body=b"{}", usage=KNOWN)
    run = measured_calls("log", "openai", [untimed, call(1.0, Usage(prompt_tokens=9)), call(2.0, KNOWN)])

    assert (len(run.requests), run.left_out) == (1, 2)
    with pytest.raises(InputFileError, match="nothing to fit"):
        measured_calls("log", "openai", [untimed])
