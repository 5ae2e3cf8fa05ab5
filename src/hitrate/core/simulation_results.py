"""What `simulate` found: a hit rate for each cache that was asked for, each with what it counts and by which rule.

Shares are 0..1, unknown is None. `capacity_blocks` None is a cache without a limit.
"""

from __future__ import annotations

from msgspec import Struct

from hitrate.core.findings import RecordSums
from hitrate.core.results import SCHEMA_VERSION


class SessionSpread(Struct, frozen=True, kw_only=True):
    """Hit rates of the single sessions, none weighing more than another."""

    sessions: int
    min: float
    p25: float
    median: float
    p75: float
    max: float
    mean: float


class SimulatedPoint(Struct, frozen=True, kw_only=True):
    """One cache over the whole trace."""

    prompt_tokens: int
    """Of the requests that are counted, whatever the definition counts."""
    hit_tokens: int | None
    """None where the definition does not count tokens."""
    hit_rate: float | None
    definition: str
    rule_set: str
    capacity_blocks: int | None
    replicas: int
    policy: str | None
    seed: int
    block_size: int
    """Tokens of a block."""
    capacity_tokens: int | None
    capacity_gib: float | None
    """None where no model was named, too."""
    ttl_s: float | None
    requests: int
    """That are counted."""
    unit: str
    """What the definition counts: "tokens", "blocks" or "requests"."""
    hits: float
    """Above the line of the hit rate, in units."""
    counted: float
    """Below the line."""
    definition_text: str
    """The definition in words: what is above the line, and what below."""
    never_fit: int | None = None
    """Requests longer than the whole cache, which an engine would refuse; None where the rule takes them."""
    imbalance: float | None = None
    """The busiest replica's new tokens over the mean of all, over the whole trace: 1 is even. None for one replica."""
    by_session: SessionSpread | None = None
    """None where the trace knows of no sessions."""
    share_of_most: float | None = None
    """Of what a cache without a limit serves; known of the points of a curve."""


class Curve(Struct, frozen=True, kw_only=True):
    """Exact at each of its points. The last one is the smallest cache that serves as much as one without a limit."""

    definition: str
    rule_set: str
    points: tuple[SimulatedPoint, ...]
    knees: tuple[SimulatedPoint, ...]
    """The smallest caches that serve 50, 90 and 99 % of the most there is."""


class SimulateResult(Struct, frozen=True, kw_only=True):
    """The members of `SimulatedPoint` are those of the only row; None where there are several or none."""

    schema_version: int = SCHEMA_VERSION
    kind: str = "simulate"
    trace: str
    format: str
    prompt_tokens: int | None = None
    hit_tokens: int | None = None
    hit_rate: float | None = None
    definition: str | None = None
    rule_set: str | None = None
    capacity_blocks: int | None = None
    replicas: int | None = None
    policy: str | None = None
    seed: int | None = None
    block_size: int
    trace_requests: int
    trace_blocks: int
    trace_distinct_blocks: int
    kv_bytes_per_token: int | None = None
    rows: tuple[SimulatedPoint, ...] = ()
    curve: Curve | None = None
    notes: tuple[str, ...] = ()
    records: RecordSums
