"""What the live page is told, as JSON: field names mean the same as in `hitrate explain` and `hitrate cost`.

Shares are fractions 0..1, money US dollars, times of day Unix seconds; unknown is null. `revision` is the number of the
change by which a part became what it is: a page that knows revision N needs only what is above N.
"""

from __future__ import annotations

from msgspec import Struct

from hitrate.core.cost import Sums
from hitrate.core.findings import Finding, Waterfall
from hitrate.core.results import SCHEMA_VERSION


class Turn(Struct, kw_only=True):
    """One call. `state` is one of `core.results.STATES`; `new_tokens` had to be computed, `lost_tokens` could have come
    from cache; both are estimates. `causes` are those of what was lost."""

    call: int
    turn: int
    at: float | None
    model: str | None
    relation: str
    prompt_tokens: int | None
    cached_tokens: int | None
    written_tokens: int | None
    output_tokens: int | None
    hit_rate: float | None
    ttft_ms: float | None
    total_ms: float | None
    status: int | None
    error: str | None
    state: str = "not reported"
    new_tokens: int | None = None
    lost_tokens: int | None = None
    lost_usd: float | None = None
    usd: float | None = None
    causes: tuple[str, ...] = ()
    revision: int = 0


class Break(Struct, kw_only=True):
    """A cause at one place of one conversation, however often it shows. `finding` is as in `hitrate explain`, over all
    calls so far and with the words of the first; the rest is for people, of the newest call: where they see it on the
    page, and the change with its invisible characters shown. Of a change that comes again and again the newest that was
    looked at closely is shown: `hitrate.explain.repeats`."""

    id: int
    session: int
    """Number of the session, as in its address."""
    session_name: str
    turn: int
    """The newest turn it shows in."""
    turns: tuple[int, ...]
    """At most the twenty newest."""
    at: float | None
    voice: str
    cost: str
    place: str
    change: str
    front: str
    """Text right in front of the change; then both sides of it, from where they part."""
    was: str
    now: str
    summary: str
    advice: str
    finding: Finding
    revision: int = 0


class SessionHead(Struct, kw_only=True):
    """A session without its turns. `named` is False where the traffic has no session key and the messages themselves
    said whose they are."""

    id: int
    name: str
    named: bool
    target: str
    model: str | None
    first_at: float | None
    last_at: float | None
    turns_dropped: int
    """Turns that are not listed any more; the sums count them."""
    breaks: int
    lost_tokens: int
    lost_usd: float | None
    sums: Sums


class SessionTurns(Struct, kw_only=True):
    """`turns` are those that changed, or all that are kept."""

    head: SessionHead
    turns: tuple[Turn, ...]
    revision: int


class Lately(Struct, kw_only=True):
    """Over the newest calls that report cached tokens."""

    calls: int
    hit_rate: float | None


class FirstToken(Struct, kw_only=True):
    """TTFT of one call. `warm`: as `hitrate.record.warmth` tells."""

    call: int
    session: int
    turn: int
    ttft_ms: float
    warm: bool | None


class Progress(Struct, kw_only=True):
    """`behind`: calls are stored that were not read yet. `fault`: why reading does not go on, or what was left out."""

    behind: bool
    fault: str | None


class Update(Struct, kw_only=True):
    """All of the page (`whole`), or what changed since revision `since`."""

    schema_version: int = SCHEMA_VERSION
    kind: str = "watch"
    recording: str
    content_kept: bool
    whole: bool
    since: int
    revision: int
    progress: Progress
    sessions_seen: int
    sums: Sums
    lost_tokens: int
    lost_usd: float | None
    lately: Lately
    waterfall: Waterfall
    rule_set: str | None
    shown_sessions: tuple[int, ...]
    """All that are kept, the one with the newest call last; what a page has beside them is gone."""
    sessions: tuple[SessionTurns, ...]
    shown_breaks: tuple[int, ...]
    """All that are kept, the one that showed last at the end. A break that is missing is too old, or turned out to be
    none."""
    breaks: tuple[Break, ...]
    first_tokens: tuple[FirstToken, ...]
    oddities: tuple[Finding, ...]
    """What is odd about how the target reports its tokens."""
