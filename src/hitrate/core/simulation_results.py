"""What `simulate` found: a hit rate for each cache that was asked for, each with what it counts and by which rule.

Shares are 0..1, unknown is None. `capacity_blocks` None is a cache without a limit.
"""

from __future__ import annotations

from msgspec import Struct

from hitrate.core.findings import RecordSums
from hitrate.core.money import Price
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
    store: str | None = None
    """"limited" or "unlimited": of a cache that all replicas share, behind their own; None without one."""
    store_blocks: int | None = None
    store_gib: float | None = None
    transferred_tokens: int | None = None
    """Of the whole trace, those that came from the store; None without one."""
    hosted_usd: float | None = None
    """What a vendor bills for the whole trace at these hits; None where no price was named, or the rule serves what no
    engine does."""
    hosted_usd_without_caching: float | None = None
    ttft_mean_s: float | None = None
    """Times are those of virtual time; None where no timing was named."""
    ttft_p50_s: float | None = None
    ttft_p90_s: float | None = None
    ttft_p99_s: float | None = None
    queue_p99_s: float | None = None
    """From arrival to the start of the prefill."""
    gpu_seconds_busy: float | None = None
    """While a step runs, however many requests share it; as all that follow, of the whole trace."""
    gpu_seconds_provisioned: float | None = None
    """GPUs of all replicas from the first request to the last, with a timing to its end; None without times, and where
    neither a timing nor a price of GPUs was named."""
    provisioned_usd: float | None = None
    provisioned_usd_per_mtok: float | None = None
    """A million prompt tokens."""
    plan: str | None = None
    """"chosen", or "front" where no row has more for less; None for the others and where no plan was made."""


class Curve(Struct, frozen=True, kw_only=True):
    """Exact at each of its points. The last one is the smallest cache that serves as much as one without a limit."""

    definition: str
    rule_set: str
    points: tuple[SimulatedPoint, ...]
    knees: tuple[SimulatedPoint, ...]
    """The smallest caches that serve 50, 90 and 99 % of the most there is."""


class Goal(Struct, frozen=True, kw_only=True):
    """The time to the first token that is asked for: `statistic` is "mean", "p50", "p90" or "p99"."""

    statistic: str
    seconds: float


class Margin(Struct, frozen=True, kw_only=True):
    """Another row beside the chosen one, and what it has more of (less where negative)."""

    row: int
    """Its place in `rows`, from 0."""
    hit_rate_more: float | None
    cost_more: float | None
    """In the plan's own cost."""
    memory_more: float | None
    """Of all replicas, in GiB where a model was named, else tokens; None beside a cache without a limit."""
    ttft_more_s: float | None = None
    """By the statistic of the goal, else p99."""


class Bound(Struct, frozen=True, kw_only=True):
    """A replay of the same trace to measure the chosen row by."""

    name: str
    hit_rate: float | None
    replicas: int
    policy: str | None
    capacity_blocks: int | None
    """Of one replica."""


class Configuration(Struct, frozen=True, kw_only=True):
    """What to type or to deploy. `version` is the one whose options were read, at `source`."""

    software: str
    version: str
    source: str
    language: str
    """"sh", "yaml", "python", "nginx" or "haproxy"."""
    text: str
    note: str = ""
    """How it differs from what was replayed."""


class Choice(Struct, frozen=True, kw_only=True):
    """A row to deploy, and how far it is from others."""

    row: int
    """Its place in `rows`, from 0."""
    why: str
    cheaper: Margin | None = None
    """The next on the front that costs less."""
    dearer: Margin | None = None
    """The next on the front that costs more."""
    other_policy: Margin | None = None
    """The best row of the same fleet with another policy."""
    bounds: tuple[Bound, ...] = ()
    affinity: str = ""
    """What session affinity alone gets of what is possible, or why that cannot be said; "" for one replica."""
    affinity_share: float | None = None
    """0..1; None where it cannot be said."""
    configurations: tuple[Configuration, ...] = ()
    no_configuration: str | None = None
    """Why there is none of a router."""


class Plan(Struct, frozen=True, kw_only=True):
    """What to deploy, of all rows that serve every request. `choices` is empty where no row meets the goal."""

    cost: str
    """The member of a row that is to be small: dollars, "replicas", or "memory", which is the capacity of all
    replicas, in GiB or tokens."""
    cost_text: str
    gain: str
    """The member of a row that is to be good: "hit_rate" (high), or a time to the first token (low)."""
    rule: str
    """How choices were made, in words."""
    goal: Goal | None
    front: tuple[int, ...]
    """Rows, from 0, that no other has more for less of, by rising cost."""
    choices: tuple[Choice, ...]
    """One; without a goal for the time to the first token one for each number of replicas."""
    nearest: Margin | None = None
    """Where no row meets the goal, the one that comes nearest; `ttft_more_s` is what it lacks."""
    warnings: tuple[str, ...] = ()


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
    trace_span_s: float | None = None
    """From the first request to the last; None for a trace without times."""
    price: Price | None = None
    """Of the vendor's bill."""
    timing: str | None = None
    """The engine whose times these are."""
    arrival_rate: float = 1.0
    """Times as fast as in the trace did requests arrive."""
    rows: tuple[SimulatedPoint, ...] = ()
    curve: Curve | None = None
    plan: Plan | None = None
    warnings: tuple[str, ...] = ()
    """Of the replay; the plan has its own."""
    notes: tuple[str, ...] = ()
    records: RecordSums
