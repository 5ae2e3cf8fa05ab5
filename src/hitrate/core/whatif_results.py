"""What a fix would have made of a log: every side predicted by one rule, and what was measured beside it.

Field order is the order in the JSON output. Shares are fractions 0..1, money US dollars, unknown is None. Everything
but `measured` and `gaps` is an estimate: prompts are counted by another vocabulary, scaled to the tokens reported.
"""

from __future__ import annotations

from msgspec import Struct

from hitrate.core.results import SCHEMA_VERSION


class Measured(Struct, frozen=True, kw_only=True):
    """As reported, over the calls that report prompt and cached tokens. `usd` is None unless each has a price."""

    calls: int
    prompt_tokens: int
    cached_tokens: int
    hit_rate: float | None
    usd: float | None


class Scenario(Struct, frozen=True, kw_only=True):
    """The log with a fix, all its calls predicted by the rule; the first one is the log as it was sent."""

    name: str
    """The fix, as its option is called; "as sent" and "all" beside them."""
    what: str
    """What was done, in one sentence."""
    changed_calls: int
    """Requests whose body is another one, or which are routed otherwise."""
    prompt_tokens: int
    cached_tokens: int
    written_tokens: int | None
    """None where the rule bills no writes."""
    hit_rate: float | None
    gained: float | None
    """Hit rate above that of the log as sent, as a difference of shares."""
    usd: float | None
    saved_usd: float | None
    """Below the predicted bill of the log as sent."""
    note: str | None = None


class Lifetime(Struct, frozen=True, kw_only=True):
    """What input would have cost over the log's own pauses with one way to keep entries alive.

    `input_tokens_worth` is the price in tokens at the input price: writes at 1.25 (five minutes) or 2 (an hour), reads
    at 0.1 (https://platform.claude.com/docs/en/build-with-claude/prompt-caching).
    """

    name: str
    input_tokens_worth: int
    usd: float | None
    rewrites: int
    """Pauses after which the prefix was gone and had to be written again."""
    pings: int = 0
    """Calls made to keep an entry alive."""


class Gaps(Struct, frozen=True, kw_only=True):
    """Pauses between the calls of a conversation, by what outlives them."""

    within_5m: int
    within_1h: int
    longer: int
    median_s: float | None


class CallOutcome(Struct, frozen=True, kw_only=True):
    """One call: as reported, as predicted for the log as sent, and with all fixes. None: not replayed."""

    call: int
    conversation: str
    prompt_tokens: int | None
    cached_tokens: int | None
    expected_cached_tokens: int | None
    prompt_tokens_after: int | None
    expected_cached_tokens_after: int | None
    changed: bool


class WhatIfReport(Struct, frozen=True, kw_only=True):
    schema_version: int = SCHEMA_VERSION
    kind: str = "whatif"
    log: str
    format: str
    rule_set: str | None
    """The rules that both sides are predicted by, with their numbers."""
    basis: str
    """ "estimated": tokens of another vocabulary, scaled to the prompt tokens reported."""
    calls: int
    replayed: int
    """Calls that were answered and whose prompt could be read."""
    conversations: int
    replicas: int
    measured: Measured
    prediction_error: float | None
    """Predicted hit rate of the log as sent less the measured one, over the same calls, as a difference of shares."""
    scenarios: tuple[Scenario, ...]
    gaps: Gaps | None = None
    lifetimes: tuple[Lifetime, ...] = ()
    by_call: tuple[CallOutcome, ...] = ()
    """The first `MOST_CALLS` calls."""
    notes: tuple[str, ...] = ()


MOST_CALLS = 1000
