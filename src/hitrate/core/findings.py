"""What `explain` found: findings, the label of every prompt token, and the report that all formats are made from.

Field order is the order in the JSON output. Shares are fractions 0..1, money US dollars, unknown is None. Tokens of
labels and losses are estimates from the reported prompt tokens and the text, except `served`, which was reported.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from hitrate.core.records import Skipped
from hitrate.core.results import SCHEMA_VERSION

Verdict = Literal[
    "prefix_break", "key_change", "breakpoints", "expiry", "too_short", "routing", "race", "engine", "reporting",
    "pricing", "unknown",
]  # fmt: skip
"""Classes of findings. "unknown": a loss whose cause does not show in this log."""

Voice = Literal["yours to change", "observation", "provider suspected"]

Confidence = Literal["certain", "likely", "possible"]

LABELS = (
    "served",
    "new",
    "behind a break",
    "below granularity",
    "expired",
    "routed or evicted",
    "not marked",
    "key changed",
    "not reported",
)
"""Every prompt token carries exactly one. "new" was never sent before; "served" is what the engine reported as cached;
"behind a break" was sent before and stands behind a change of the text in front of it; "not marked" is out of reach of
every cache marker; "not reported" could have been served, and the engine does not say."""


class Finding(Struct, frozen=True, kw_only=True):
    """One cause at one place of one conversation.

    `call` is the 0-based index in the file of the request in which it first shows, `against` that of the request it is
    compared with; `calls` are all the requests it shows in. `pointer` is a JSON pointer into the body of both;
    `offset` counts Unicode code points inside the string there, None where the place is no string. `was` and `now`
    start at the offset, invisible characters as they are.
    """

    verdict: Verdict
    cause: str
    """Name of the cause, as in the list of causes."""
    call: int | None
    against: int | None
    pointer: str | None
    offset: int | None
    was: str | None
    now: str | None
    cacheable_chars: int | None
    """Code points of prompt text in front that both prompts share."""
    cacheable_share: float | None
    """Of the prompt text of `call`."""
    lost_tokens: int | None
    """Prompt tokens, over all `calls`, that could have been served without this cause."""
    lost_usd: float | None
    voice: Voice
    confidence: Confidence
    summary: str
    """One sentence: what changed, in words."""
    ruled_out: tuple[str, ...] = ()
    advice: str = ""
    calls: tuple[int, ...] = ()
    occurrences: int = 1
    """Requests it shows in; `calls` lists at most the first hundred."""
    session: str | None = None
    vendor: str | None = None
    """What the vendor's own diagnosis says of it, and whether it agrees; None where the log has none."""
    line: int | None = None
    """Line of the log, from 1, that holds `call`; None where the log is no lines of calls."""
    against_line: int | None = None


class Oddity(Struct, frozen=True, kw_only=True):
    """A cause of findings on a whole log: nothing was lost, but its figures are easily read wrong."""

    name: str
    verdict: Verdict
    voice: Voice
    about: str
    reports: tuple[str, ...] = ()


class LabelSum(Struct, frozen=True, kw_only=True):
    """Prompt tokens of one label; of breaks and other losses per cause."""

    label: str
    cause: str | None
    tokens: int
    share: float | None
    usd: float | None
    """What these tokens cost; None where a price is not known."""


class Waterfall(Struct, frozen=True, kw_only=True):
    """The tokens of `labels` add up to `prompt_tokens`."""

    prompt_tokens: int
    calls: int
    """Calls whose prompt tokens are known; the others are in no label."""
    hit_rate: float | None
    labels: tuple[LabelSum, ...]
    lost_tokens: int
    """All tokens that could have been served and were not."""
    lost_usd: float | None
    unpriced_calls: int = 0
    """Calls of which an amount is not known, for want of a price or of a report: the sums of money leave it out."""


class SessionWaterfall(Struct, frozen=True, kw_only=True):
    """One conversation: `session` is the log's own name for it, or "#3" for the third one found."""

    session: str
    calls: tuple[int, ...]
    waterfall: Waterfall


class CallRate(Struct, frozen=True, kw_only=True):
    """What one call was served, as reported."""

    call: int
    session: str
    prompt_tokens: int | None
    hit_rate: float | None


MOST_CALL_RATES = 1000
"""Calls of a log whose hit rates a report lists one by one."""


class RecordSums(Struct, frozen=True, kw_only=True):
    """`read` = `used` + `damaged` + `repeated`, as in `Records`. `used` holds the `left_out`, too: calls whose reported
    counts are used and whose request cannot be read, so that nothing can be said of their prefix. `skipped` lists the
    damaged records and those left out, each with its reason."""

    read: int
    used: int
    damaged: int = 0
    repeated: int = 0
    left_out: int = 0
    skipped: tuple[Skipped, ...] = ()
    remarks: tuple[Any, ...] = ()


class ExplainReport(Struct, frozen=True, kw_only=True):
    schema_version: int = SCHEMA_VERSION
    kind: str = "explain"
    log: str
    format: str
    rule_set: str | None
    """Rule sets, with their dates, that the expectations come from."""
    calls: int
    sessions: int
    records: RecordSums
    findings: tuple[Finding, ...]
    """The dearest first."""
    waterfall: Waterfall
    by_session: tuple[SessionWaterfall, ...] = ()
    by_call: tuple[CallRate, ...] = ()
    """The first `MOST_CALL_RATES` calls."""
    notes: tuple[str, ...] = ()
    """What was assumed, and what cannot be told from this log."""
