"""What real engines took, read for a calibration: runs of LLMServingSim's benchmark, and calls with their timings.

LLMServingSim (https://github.com/casys-kaist/LLMServingSim, bench) keeps a folder a run: `requests.jsonl` with a line a
request,

    {"request_id": "bench-0", "input_toks": 3, "output_toks": 8, "arrival_time": 1777142838.3, "queued_ts": 479748.3,
     "scheduled_ts": 479748.3, "first_token_ts": 479748.5, "last_token_ts": 479764.0}

whose stamps are of the engine's own clock, and `meta.json` with the settings; the prompts are in the workload that it
names. The quickest way from a client to the engine is taken for none at all: so the two clocks are set to each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from hitrate.core.measured import MeasuredRequest, MeasuredRun
from hitrate.core.model import Call
from hitrate.core.records import Skipped
from hitrate.core.trace import Chunk
from hitrate.errors import InputFileError
from hitrate.logs.lines import first_objects
from hitrate.logs.opened import head_of, opened
from hitrate.logs.traces.rows import Rows
from hitrate.logs.traces.token_ids import BLOCK_TOKENS, TokenIds

FORMAT = "llmservingsim-run"
_REQUESTS, _SETTINGS = "requests.jsonl", "meta.json"


class _Row(msgspec.Struct, gc=False):
    input_toks: int
    output_toks: int
    arrival_time: float
    queued_ts: float
    first_token_ts: float | None = None
    last_token_ts: float | None = None


def read_measured(path: str, workload: str | None = None) -> MeasuredRun | None:
    """A run of LLMServingSim's: its folder, or the file of its requests; None for what is something else. `workload` is
    the file with the prompts; left out, it is looked for beside the run by the name that the run gives it.

    InputFileError for a run that cannot be read, or that is not of this workload.
    """
    file = Path(path) / _REQUESTS if Path(path).is_dir() else Path(path)
    if not file.exists():
        return None
    stream = opened(str(file), None)
    try:
        if not any({"queued_ts", "first_token_ts"} <= set(one) for one in first_objects(head_of(stream, str(file)))):
            return None
        rows, left_out = _usable(Rows(stream, msgspec.json.Decoder(_Row)))
    finally:
        stream.close()
    if not rows:
        raise InputFileError(str(file), f"none of its {left_out} lines is a request that was served")
    rows.sort(key=lambda row: row.arrival_time)
    offset = min(row.queued_ts - row.arrival_time for row in rows)
    requests = tuple(_request(row, rows[0].arrival_time, offset) for row in rows)
    meta = _meta(file.with_name(_SETTINGS))
    engines = _of(meta, "engine_kwargs").get("data_parallel_size")
    if isinstance(engines, int) and engines > 1:
        raise InputFileError(
            path,
            f"served by {engines} engines (data_parallel_size), and not said which request by which; use a run of one",
        )
    prompts = _find(file, meta) if workload is None else Path(workload)
    return MeasuredRun(
        path=path,
        format=FORMAT,
        requests=requests,
        blocks=None if prompts is None else _blocks(prompts, requests),
        block_tokens=BLOCK_TOKENS,
        settings=_settings(meta),
        left_out=left_out,
        notes=("the workload's prompts were not found; what was cached is not known: name it with --workload",)
        if prompts is None
        else (),
    )


def measured_calls(path: str, format: str, calls: Iterable[Call]) -> MeasuredRun:
    """Calls that say when they were sent, how long they took and how many tokens they were of. InputFileError where
    none does."""
    requests, left_out, late = [], 0, 0
    for call in calls:
        timing, usage = call.timing, call.usage
        if timing is None or not usage.prompt_tokens or usage.output_tokens is None or usage.accounting_fault:
            left_out += 1
            continue
        late += timing.ttft_is_upper_bound
        ttft_s = timing.ttft_s if call.error is None else None
        total_s = timing.total_s if call.error is None else None
        requests.append(
            MeasuredRequest(
                timing.at, usage.prompt_tokens, usage.cached_tokens, max(0, usage.output_tokens), ttft_s, total_s
            )
        )
    if not requests:
        raise InputFileError(path, "none of its calls has a time, a prompt's tokens and a reply's; nothing to fit")
    requests.sort(key=lambda one: one.arrived_s)
    first = requests[0].arrived_s
    notes = []
    if unknown := sum(one.cached_tokens is None for one in requests):
        notes.append(f"{unknown:,} of {len(requests):,} calls do not say what was cached; taken for nothing")
    if late:
        notes.append(f"{late:,} times to first token are upper bounds: more than one token came at once")
    return MeasuredRun(
        path=path,
        format=format,
        requests=tuple(one._replace(arrived_s=one.arrived_s - first) for one in requests),
        left_out=left_out,
        notes=tuple(notes),
    )


def _usable(rows: Rows[_Row]) -> tuple[list[_Row], int]:
    found, left_out = [], 0
    for _, row in rows:
        usable = not isinstance(row, Skipped) and row.input_toks > 0 and row.output_toks >= 0
        if not isinstance(row, Skipped) and usable and math.isfinite(row.arrival_time + row.queued_ts):
            found.append(row)
        else:
            left_out += 1
    return found, left_out


def _request(row: _Row, first: float, offset: float) -> MeasuredRequest:
    def since(stamp: float | None) -> float | None:
        return None if stamp is None else stamp - offset - row.arrival_time

    return MeasuredRequest(
        row.arrival_time - first,
        row.input_toks,
        None,
        row.output_toks,
        since(row.first_token_ts),
        since(row.last_token_ts),
    )


def _meta(file: Path) -> dict[str, Any]:
    """Nothing where there is no such file."""
    try:
        found = msgspec.json.decode(file.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputFileError(str(file), f"cannot be read ({error.strerror})") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputFileError(str(file), f"not JSON: {error}") from None
    return found if isinstance(found, dict) else {}


def _settings(meta: dict[str, Any]) -> dict[str, int]:
    resolved = _of(meta, "resolved_config")
    scheduler = {**_of(resolved, "scheduler_config"), **_of(meta, "engine_kwargs")}
    found = {
        "max_running_requests": scheduler.get("max_num_seqs"),
        "max_batched_tokens": scheduler.get("max_num_batched_tokens"),
        "kv_capacity_tokens": _of(meta, "kv_cache").get("num_kv_tokens"),
        "chunked_prefill": scheduler.get("enable_chunked_prefill"),
        "scheduled_ahead": scheduler.get("async_scheduling"),
    }
    return {name: value for name, value in found.items() if isinstance(value, int)}


def _of(members: dict[str, Any], name: str) -> dict[str, Any]:
    found = members.get(name)
    return found if isinstance(found, dict) else {}


def _find(requests: Path, meta: dict[str, Any]) -> Path | None:
    """The workload that the run names: as it says, or in one of the folders around it."""
    named = meta.get("dataset_path")
    if not isinstance(named, str) or not named:
        return None
    places = [Path(named)]
    for folder in list(requests.resolve().parents)[:6]:
        places += [folder / named, folder / Path(named).name]
    for place in places:
        for file in (place, place.with_name(f"{place.name}.gz")):
            if file.is_file():
                return file
    return None


def _blocks(workload: Path, requests: Sequence[MeasuredRequest]) -> tuple[Chunk, ...]:
    stream = opened(str(workload), None)
    trace = TokenIds().open(stream, str(workload), b"", BLOCK_TOKENS)
    chunks = tuple(trace.chunks())
    tokens = [count for chunk in chunks for count in chunk.input_tokens]
    if tokens != [request.prompt_tokens for request in requests]:
        raise InputFileError(
            str(workload), f"its {len(tokens):,} prompts are not those of the run's {len(requests):,} requests"
        )
    return chunks
