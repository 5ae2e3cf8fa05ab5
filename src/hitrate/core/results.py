"""What `test` and `bench` found: the values every output format is made from.

Field order is the order in the JSON output; `schema_version` is first. Times end in `_ms`, shares are fractions 0..1,
unknown is None. `cached_tokens` is the engine's own figure, `expected_cached_tokens` what the cache rule predicts.
"""

from __future__ import annotations

from msgspec import Struct

SCHEMA_VERSION = 1

STATES = ("cold", "hit", "partial", "miss", "not reported", "too short", "warm-up", "failed")


class Interval(Struct, frozen=True):
    """A share or a mean with its 95 % interval and the number of observations."""

    estimate: float
    low: float
    high: float
    n: int


class Measurement(Struct, frozen=True, kw_only=True):
    """How far the run's own clock can be trusted, stated by the run."""

    loop_lag_p50_ms: float | None = None
    loop_lag_p99_ms: float | None = None
    loop_lag_max_ms: float | None = None
    late_first_reads: int = 0
    """TTFTs that are upper bounds, because the first read already held more than one token."""
    calls: int = 0
    achieved_concurrency: float | None = None
    asked_concurrency: int | None = None
    connections_opened: int = 0
    connect_p50_ms: float | None = None
    retries: int = 0
    waited_s: float = 0.0


class Expectation(Struct, frozen=True, kw_only=True):
    """Where `expected_cached_tokens` comes from. `basis` is "exact" (the engine's own tokens) or "estimated";
    `granularity` is the rule's own step in tokens, None where no rule is known."""

    rule_set: str | None = None
    basis: str | None = None
    granularity: int | None = None
    note: str | None = None


class TurnRow(Struct, frozen=True, kw_only=True):
    """One call of a multi-turn test. `run` is "sequential" or "parallel", with "#K" when repeated."""

    run: str
    session: int
    turn: int
    prompt_tokens: int | None
    cached_tokens: int | None
    expected_cached_tokens: int | None
    hit_rate: float | None
    ttft_ms: float | None
    state: str
    output_tokens: int | None = None
    total_ms: float | None = None
    prefill_ms: float | None = None
    """The engine's own prefill time, where it gives one."""
    note: str | None = None


class Aggregate(Struct, frozen=True, kw_only=True):
    """Sums over the calls that report cached tokens; `not_reported` counts the others."""

    prompt_tokens: int | None
    cached_tokens: int | None
    hit_rate: float | None
    not_reported: int
    calls: int = 0
    failed: int = 0
    ttft_cold_p50_ms: float | None = None
    ttft_warm_p50_ms: float | None = None


class PerTurn(Struct, frozen=True, kw_only=True):
    """One turn over all sessions of a run: how often the session's own history was found."""

    run: str
    turn: int
    found: Interval | None
    hit_rate: float | None
    ttft_p50_ms: float | None


class Verdict(Struct, frozen=True, kw_only=True):
    """`healthy` and `routing_is_a_factor` are None when the run cannot tell. `cause` is one word for machines."""

    healthy: bool | None
    routing_is_a_factor: bool | None
    text: str
    cause: str | None = None
    replicas: Interval | None = None
    repeatable: bool | None = None
    granularity: int | None = None


class PadRow(Struct, frozen=True, kw_only=True):
    """One padded length of `--pad`: the same prompt sent twice, and what the second was served."""

    pad_tokens: int
    prompt_tokens: int | None
    cached_tokens: int | None
    expected_cached_tokens: int | None


class TestResult(Struct, frozen=True, kw_only=True):
    __test__ = False  # its name makes pytest look for tests in it

    schema_version: int = SCHEMA_VERSION
    kind: str = "test"
    run_id: str | None = None
    started_at: str = ""
    target: str = ""
    model: str | None = None
    expectation: Expectation = Expectation()
    turns: tuple[TurnRow, ...] = ()
    per_turn: tuple[PerTurn, ...] = ()
    pad: tuple[PadRow, ...] = ()
    aggregate: Aggregate
    verdict: Verdict
    measurement: Measurement = Measurement()
    cost_usd: float | None = None
    warnings: tuple[str, ...] = ()


class BenchCall(Struct, frozen=True, kw_only=True):
    call: int
    role: str
    """"first", "warm-up" (not averaged), "warm", or "cold" for an interleaved cold call."""
    ttft_ms: float | None
    prompt_tokens: int | None
    cached_tokens: int | None
    expected_cached_tokens: int | None
    state: str
    hit_rate: float | None = None
    prefill_ms: float | None = None
    total_ms: float | None = None
    note: str | None = None


class BenchRow(Struct, frozen=True, kw_only=True):
    """`speedup_x` = first_ms / rest_p50_ms. `cold_p50_ms` is over interleaved cold calls of the same prompt."""

    order: str
    shape: str
    first_ms: float | None
    rest_p50_ms: float | None
    rest_p95_ms: float | None
    speedup_x: float | None
    cold_p50_ms: float | None = None
    cold_speedup: Interval | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    hit_rate: float | None = None
    calls: tuple[BenchCall, ...] = ()


class BenchResult(Struct, frozen=True, kw_only=True):
    schema_version: int = SCHEMA_VERSION
    kind: str = "bench"
    run_id: str | None = None
    started_at: str = ""
    target: str = ""
    model: str | None = None
    expectation: Expectation = Expectation()
    rows: tuple[BenchRow, ...] = ()
    usage_call: TurnRow | None = None
    measurement: Measurement = Measurement()
    cost_usd: float | None = None
    warnings: tuple[str, ...] = ()
