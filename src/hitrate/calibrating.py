"""A measured run calibrated: what its engine's steps cost. The one way that the command and tests take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hitrate.core.calibration_results import CalibrateResult
from hitrate.core.measured import MeasuredRequest, MeasuredRun
from hitrate.errors import UsageError
from hitrate.sim.capacity.vllm import VllmBlocks
from hitrate.sim.timing.calibrate import MOST_FITTED, Calibration, calibrate
from hitrate.sim.timing.engine_timing import EngineTiming


def calibrate_run(run: MeasuredRun, settings: Mapping[str, int | bool], share: float) -> CalibrateResult:
    """`settings` are limits of `EngineTiming` that go before what the run says itself. UsageError for settings that no
    engine has, and for what `calibrate` cannot fit."""
    known = {**run.settings, **settings}
    try:
        limits = EngineTiming(step_s=1.0, prefill_token_s=0.0, **known)  # type: ignore[arg-type]
    except ValueError as error:
        raise UsageError(f"the engine's settings: {error}") from None
    requests = _with_hits(run, limits.kv_capacity_tokens)
    found = calibrate(requests, limits, share)
    return CalibrateResult(
        measured=run.path,
        format=run.format,
        requests=len(requests),
        fitted_requests=found.fitted,
        held_out_requests=len(requests) - found.fitted,
        queued_requests=found.queued,
        longest_prompt_tokens=max(request.prompt_tokens for request in requests),
        costs=found.costs,
        max_running_requests=limits.max_running_requests,
        max_batched_tokens=limits.max_batched_tokens,
        kv_capacity_tokens=limits.kv_capacity_tokens,
        chunked_prefill=limits.chunked_prefill,
        scheduled_ahead=limits.scheduled_ahead,
        errors=found.errors,
        simulations=found.simulations,
        notes=tuple(_notes(run, requests, found, known, share)),
    )


def _with_hits(run: MeasuredRun, kv_capacity_tokens: int | None) -> Sequence[MeasuredRequest]:
    """Where the prompts are known, vLLM's rule says what was cached; else what the run reports."""
    if run.blocks is None:
        return run.requests
    size = run.block_tokens
    cache = VllmBlocks(None if kv_capacity_tokens is None else kv_capacity_tokens // size, size)
    served = [hits for chunk in run.blocks for hits in cache.add(chunk)]
    return [request._replace(cached_tokens=hits * size) for request, hits in zip(run.requests, served, strict=True)]


def _notes(
    run: MeasuredRun,
    requests: Sequence[MeasuredRequest],
    found: Calibration,
    known: Mapping[str, int | bool],
    share: float,
) -> Iterator[str]:
    yield from run.notes
    if run.left_out:
        yield f"{run.left_out:,} records lack a time or a token count and are left out, also as load"
    if run.blocks is not None:
        cached = sum(request.cached_tokens or 0 for request in requests)
        prompts = sum(request.prompt_tokens for request in requests)
        rule = f"vLLM's rule in blocks of {run.block_tokens}"
        yield f"of the prompts {100 * cached / prompts:.1f} % was cached, by {rule}"
    defaults = [name for name in ("max_running_requests", "max_batched_tokens") if name not in known]
    if defaults:
        yield (
            f"{' and '.join(defaults)} are vLLM's defaults, for the run does not say; give the engine's own with "
            "--engine-config"
        )
    if found.fitted < round(len(requests) * share):
        yield f"fitted to the first {MOST_FITTED:,} requests, which is enough"
    if not found.queued:
        yield "no fitted request had to wait for others: how this engine behaves under more load was not seen"
    if found.fitted == len(requests):
        yield "nothing was held out: how well this predicts other requests is not known; see --fit"
    missing = [cost.text for cost in found.costs if not cost.determined]
    if missing:
        yield (
            f"not determined by these requests: what {'; '.join(missing)} costs. For other lengths of prompts or other "
            "loads than these, measure with more variety"
        )
    yield "intervals take requests for independent, which those of one queue are not: the truth may lie further off"
