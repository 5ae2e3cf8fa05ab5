"""What `calibrate` found: what an engine's steps cost, and how well that predicts what it was not fitted to.

Errors are predicted by measured, less one: 0.05 is 5 % too long. Unknown is None.
"""

from __future__ import annotations

from msgspec import Struct

from hitrate.core.results import SCHEMA_VERSION


class FittedCost(Struct, frozen=True, kw_only=True):
    """A part of a step's seconds. `low` and `high` are a 95 % interval from the scatter of the fitted requests."""

    name: str
    text: str
    seconds: float
    low: float | None
    high: float | None
    determined: bool
    """False: these requests cannot tell it apart from the others. It is left out, at 0, or loosely known where the
    interval says so."""


class PredictionError(Struct, frozen=True, kw_only=True):
    """`part` is "fitted" or "held out"; `statistic` is "mean", "p50", "p90", "p99" or "one request", the median of what
    single requests are off by, whichever way."""

    part: str
    figure: str
    """"ttft" or "end to end"."""
    statistic: str
    n: int
    measured_s: float | None
    predicted_s: float | None
    error: float


class CalibrateResult(Struct, frozen=True, kw_only=True):
    schema_version: int = SCHEMA_VERSION
    kind: str = "calibrate"
    measured: str
    format: str
    requests: int
    fitted_requests: int
    held_out_requests: int
    queued_requests: int
    """Of the fitted ones, those that had to wait for others, as predicted: what a fit can know of queues."""
    longest_prompt_tokens: int
    """That was measured: what is predicted of longer ones is an extrapolation."""
    costs: tuple[FittedCost, ...]
    max_running_requests: int
    max_batched_tokens: int
    kv_capacity_tokens: int | None
    chunked_prefill: bool
    scheduled_ahead: bool
    errors: tuple[PredictionError, ...]
    simulations: int
    notes: tuple[str, ...] = ()
