"""What `probe` found about a target: one answer a question, each with its evidence.

Field order is the order in the JSON output. Unknown is None; an answer that could not be had says so in `status` and
what would help in `advice`. Tokens are prompt tokens as the target counts them.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hitrate.core.results import SCHEMA_VERSION, Measurement

PROBES = (
    "hidden",
    "replicas",
    "affinity",
    "granularity",
    "minimum",
    "write-delay",
    "opening",
    "generated",
    "look-back",
    "sharing",
    "lifetime",
    "honesty",
)
"""Every probe, in the order they are made: later ones use what earlier ones found."""

ProbeStatus = Literal["answered", "could not tell", "not applicable"]

Basis = Literal["counts", "time"]
"""What an answer stands on: cached tokens as reported, or times to first token."""


class Observation(Struct, frozen=True, kw_only=True):
    """One call of a probe. `role` is "write" (a prefix never sent before), "read" (one that was) or what the probe
    calls it; `found` is whether the prefix counted as read from the cache, None when the call cannot tell."""

    role: str
    subject: str = ""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    ttft_ms: float | None = None
    age_s: float | None = None
    """Seconds from the first token of the write to this read."""
    found: bool | None = None
    error: str | None = None


class Answer(Struct, frozen=True, kw_only=True):
    """`subject` names the knob or the scope where a probe asks about several. `value` is the figure, in `unit`, where
    the answer is one; `choice` the word where it is one of a few. `low` and `high` enclose it: a 95 % interval, or the
    two tries between which the truth lies (`bounds` says which)."""

    probe: str
    status: ProbeStatus
    text: str
    subject: str = ""
    value: float | None = None
    unit: str | None = None
    choice: str | None = None
    low: float | None = None
    high: float | None = None
    bounds: Literal["interval", "bracket"] | None = None
    p_value: float | None = None
    basis: Basis | None = None
    documented: str | None = None
    agrees: bool | None = None
    """Whether the documented value is compatible with what was measured; None where nothing is documented or told."""
    advice: str | None = None
    calls: int = 0
    prompt_tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    observations: tuple[Observation, ...] = ()
    """The calls made for this answer; with several answers of one probe the first one holds them."""


class PlannedProbe(Struct, frozen=True, kw_only=True):
    """What a probe may take at most; `waits_s` are seconds in which nothing is sent."""

    probe: str
    calls: int
    prompt_tokens: int
    waits_s: float = 0.0
    cost_usd: float | None = None


class ProbeResult(Struct, frozen=True, kw_only=True):
    schema_version: int = SCHEMA_VERSION
    kind: str = "probe"
    run_id: str | None = None
    started_at: str = ""
    target: str = ""
    model: str | None = None
    rule_set: str | None = None
    """Where the documented values come from, None where nothing is known of the target's cache."""
    rule_source: str | None = None
    rule_date: str | None = None
    plan: tuple[PlannedProbe, ...] = ()
    most_calls: int = 0
    """The cap on all calls together, stated before the first one."""
    answers: tuple[Answer, ...] = ()
    calls: int = 0
    failed: int = 0
    """Calls that were refused or broke off; none of them counts as a miss."""
    prompt_tokens: int = 0
    measurement: Measurement = Measurement()
    cost_usd: float | None = None
    warnings: tuple[str, ...] = ()
