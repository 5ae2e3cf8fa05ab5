"""The loss ledger: what calls were served beside what the calls before them left, for logs without prompts.

A call leaves for the next one what it read from the cache and wrote to it; where a vendor caches by itself and reports
no writes, its whole prompt in steps. In transcripts of real agents on Anthropic the next call reads exactly that, or
nothing. Less than that is a loss only of a call that goes on with the same conversation. Without text that is told by
numbers: a prompt that became shorter is a rewind, a compaction or another conversation, and one that grew by less than
the reply to it is another conversation that resembles it.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from msgspec import Struct

from hitrate.core.findings import Finding
from hitrate.core.model import Call, Happening, Usage
from hitrate.core.money import Price
from hitrate.explain.evidence import Facts, Recognised
from hitrate.explain.labels import LABEL_OF, Labelled, label_tokens
from hitrate.explain.ledger_causes import LEDGER_CAUSES, LedgerCause, Shortfall
from hitrate.explain.waterfall import price_labels

FIVE_MINUTES_S, ONE_HOUR_S = 300.0, 3600.0

TOLERANCE = 0.02
"""Of what was expected: a conversation may end its cached part a little earlier than it did, say at a message."""

USUAL_MINIMUM_TOKENS = 1024
"""The shortest prompt that vendors without cache markers keep, where no rule says otherwise."""

MOST_OPEN = 8
"""Conversations of one session, label and model that are kept apart."""

LEAST_GROWTH = 2
"""Calls in a row that have to grow like a conversation before one that never read its own state is taken for one:
questions over one opening that come under one session's name grow so by chance only."""

_MARKED_DIALECTS = ("anthropic-messages", "bedrock-converse")
"""Wires where only what is marked is kept, and every write is reported."""

_MOST_CALLS_LISTED = 100
_MOST_HAPPENINGS = 32


class _Conversation(Struct):
    """One conversation: what its newest call left, and what happened in its session since then."""

    index: int
    model: str | None
    at: float | None
    done: float | None
    prompt_tokens: int
    reply_tokens: int
    """Of its reply, those that the next prompt has to contain."""
    left_tokens: int
    opening_tokens: int
    """What its first call was served: the part that it shares with other conversations."""
    lifetime_s: float
    confirmed: bool = False
    """Some call of it read what the one before had left: so it is one conversation."""
    growth: int = 0
    """Calls in a row, the newest included, whose prompts grew as a conversation's do."""
    since: list[Happening] = []

    @property
    def certain(self) -> bool:
        """Whether its calls do belong together: else nothing can be lost from one to the next."""
        return self.confirmed or self.growth >= LEAST_GROWTH


class _Served(Struct, frozen=True):
    """The call at hand."""

    index: int
    call: Call
    prompt_tokens: int
    cached_tokens: int
    granularity: int

    @property
    def at(self) -> float | None:
        return None if self.call.timing is None else self.call.timing.at

    @property
    def by_itself(self) -> bool:
        """Whether its label holds one conversation at a time: it has a session, and is no subagent's."""
        return bool(self.call.session) and not self.call.label

    def reads(self, tokens: int) -> bool:
        """Whether it was served as much as that."""
        return self.cached_tokens >= tokens - max(self.granularity, int(tokens * TOLERANCE))

    def nearly(self, tokens: int) -> bool:
        """Whether it was served just as much as that."""
        return abs(tokens - self.cached_tokens) <= max(self.granularity, int(tokens * TOLERANCE))


class _Losses(Struct):
    """The losses of one session by one cause."""

    first: int
    against: int
    cause: LedgerCause
    recognised: Recognised
    session: str | None
    count: int = 0
    calls: list[int] = []
    tokens: int = 0
    usd: Decimal | None = Decimal(0)


_Lane = tuple[str, str, str | None]
"""Label, target and model: conversations of different lanes share no cache."""


class Ledger:
    """Takes the calls of a log in order. Memory grows with its sessions, not with its calls."""

    def __init__(self) -> None:
        self._sessions: dict[str, dict[_Lane, list[_Conversation]]] = {}
        self._losses: dict[tuple[str, str], _Losses] = {}

    def add(self, index: int, call: Call, *, price: Price | None, facts: Facts | None = None) -> tuple[Labelled, ...]:
        """The labels of its prompt tokens; none where those are not known."""
        lanes = self._sessions.setdefault(call.session, {})
        for happening in call.happenings:
            _remember(lanes, happening)
        usage, facts = call.usage, facts or Facts()
        if not usage.prompt_tokens:
            if call.error is not None:
                _remember(lanes, Happening(kind="aborted", detail=call.error))
            return ()
        lane = lanes.setdefault((call.label, call.target, call.model), [])
        if usage.accounting_fault:
            return (Labelled("not reported", None, usage.prompt_tokens),)
        served = _Served(index, call, usage.prompt_tokens, usage.cached_tokens or 0, facts.granularity)
        if usage.cached_tokens is None:
            labels = _not_reported(served, lane, facts)
            before = lane[-1] if lane else None
        else:
            labels, before = self._judge(served, lanes, lane, price, facts)
        _go_on(lane, before, served, facts)
        return labels

    def findings(self) -> tuple[Finding, ...]:
        """One a session and cause, in the order in which they first show."""
        return tuple(_finding(losses) for losses in sorted(self._losses.values(), key=lambda losses: losses.first))

    def _judge(
        self,
        served: _Served,
        lanes: dict[_Lane, list[_Conversation]],
        lane: list[_Conversation],
        price: Price | None,
        facts: Facts,
    ) -> tuple[tuple[Labelled, ...], _Conversation | None]:
        """Labels, and the conversation that the call goes on with; None when it starts one."""
        before = _read_by(served, lane)
        if before is not None:
            before.confirmed = True
            rounded = min(before.left_tokens, served.prompt_tokens)
            return _labels(served, rounded, "below granularity", None), before
        before = _compacted(served, lane) or _continued(served, lane) or _on_other_model(served, lanes)
        if before is None or not before.certain:
            return _labels(served, served.cached_tokens, "new", None), before
        shortfall = _shortfall(served, before, facts)
        cause, recognised = next(
            (cause, found) for cause in LEDGER_CAUSES if (found := cause.recognise(shortfall)) is not None
        )
        # The text that replaced a compacted history was never sent before.
        label = "new" if shortfall.compacted else LABEL_OF[cause.verdict]
        labels = _labels(served, shortfall.cached_tokens + shortfall.lost_tokens, label, cause.name)
        self._count(served, shortfall, cause, recognised, _above_cached(labels, served.call.usage, price, cause.name))
        return labels, before

    def _count(
        self, served: _Served, shortfall: Shortfall, cause: LedgerCause, recognised: Recognised, usd: Decimal | None
    ) -> None:
        key = (served.call.session, cause.name)
        if key not in self._losses:
            session = served.call.session or None
            self._losses[key] = _Losses(served.index, shortfall.against, cause, recognised, session)
        losses = self._losses[key]
        losses.count += 1
        losses.tokens += shortfall.lost_tokens
        losses.usd = None if losses.usd is None or usd is None else losses.usd + usd
        if len(losses.calls) < _MOST_CALLS_LISTED:
            losses.calls.append(served.index)


def _remember(lanes: dict[_Lane, list[_Conversation]], happening: Happening) -> None:
    for conversations in lanes.values():
        for conversation in conversations:
            if len(conversation.since) < _MOST_HAPPENINGS:
                conversation.since.append(happening)


def _read_by(served: _Served, lane: Sequence[_Conversation]) -> _Conversation | None:
    """The conversation whose state the call was served: of those it can have read whole, the nearest in size."""
    read = [
        one
        for one in lane
        if 0 < one.left_tokens <= served.prompt_tokens and served.cached_tokens and served.reads(one.left_tokens)
    ]
    return min(read, key=lambda one: (abs(one.left_tokens - served.cached_tokens), -one.index), default=None)


def _compacted(served: _Served, lane: Sequence[_Conversation]) -> _Conversation | None:
    """The conversation whose history was replaced just before this call."""
    if served.call.label or not lane:
        return None
    newest = lane[-1]
    expected = min(newest.left_tokens, served.prompt_tokens)
    return newest if _happened(newest, "compaction") and expected and not served.reads(expected) else None


def _continued(served: _Served, lane: Sequence[_Conversation]) -> _Conversation | None:
    """The conversation that the call goes on with by the sizes of their prompts, though it was not served its state."""
    alone = served.by_itself and len(lane) == 1
    if not alone and served.cached_tokens and any(served.nearly(one.opening_tokens) for one in lane):
        return None  # it was served what another conversation started with: so it starts one, too
    found = [one for one in lane if one.left_tokens and _goes_on(served, one, newest=one is lane[-1], alone=alone)]
    return max(found, key=lambda one: (one.left_tokens, one.index), default=None)


def _goes_on(served: _Served, before: _Conversation, *, newest: bool, alone: bool) -> bool:
    if before.confirmed and served.by_itself:
        # Thinking that is not sent back makes a prompt grow by less than the reply.
        return _grew(served, before, least=0 if alone else before.reply_tokens, most=(16_384, 0.5))
    return (before.confirmed or (newest and served.by_itself)) and _grew_by_a_turn(served, before)


def _grew_by_a_turn(served: _Served, before: _Conversation) -> bool:
    """By the reply and a turn of usual size."""
    return _grew(served, before, least=before.reply_tokens, most=(2048, 0.25))


def _grew(served: _Served, before: _Conversation, *, least: int, most: tuple[int, float]) -> bool:
    """By at least so many tokens, and beyond the reply by at most so many or that share of what there was."""
    growth = served.prompt_tokens - before.prompt_tokens
    tokens, share = most
    within = least <= growth <= before.reply_tokens + max(tokens, before.prompt_tokens * share)
    return within and not _sent_meanwhile(served, before)


def _sent_meanwhile(served: _Served, before: _Conversation) -> bool:
    """Before the other call was, or before it was answered: then it does not contain its reply."""
    if served.at is None or before.at is None:
        return False
    return served.at < (before.at if before.done is None else before.done)


def _on_other_model(served: _Served, lanes: dict[_Lane, list[_Conversation]]) -> _Conversation | None:
    """The session's newest conversation, where another model or provider had it until now."""
    if not served.by_itself:
        return None
    others = [lane[-1] for (label, *_), lane in lanes.items() if lane and not label]
    newest = max(others, key=lambda one: one.index, default=None)
    if newest is None or newest.model == served.call.model or not newest.left_tokens or not newest.certain:
        return None
    return newest if not served.reads(newest.left_tokens) and _grew_by_a_turn(served, newest) else None


def _happened(conversation: _Conversation, kind: str) -> bool:
    return any(happening.kind == kind for happening in conversation.since)


def _shortfall(served: _Served, before: _Conversation, facts: Facts) -> Shortfall:
    model = served.call.model
    settings = [happening.detail or "a setting" for happening in before.since if happening.kind == "setting"]
    # Of the model counts which one answered: one that was chosen and left again is no change.
    settings = [detail for detail in settings if not detail.lower().startswith("model")]
    if before.model != model:
        settings.append(f"model: {before.model} to {model}")
    idle_s = None if served.at is None or before.at is None else max(served.at - before.at, 0.0)
    return Shortfall(
        expected_tokens=before.left_tokens,
        cached_tokens=served.cached_tokens,
        lost_tokens=max(min(before.left_tokens, served.prompt_tokens) - served.cached_tokens, 0),
        against=before.index,
        idle_s=idle_s,
        lifetime_s=before.lifetime_s,
        compacted=_happened(before, "compaction") and not served.call.label,
        settings=tuple(dict.fromkeys(settings)),
        failed_calls=sum(happening.kind == "aborted" for happening in before.since),
    )


def _labels(served: _Served, reusable: int, label: str, cause: str | None) -> tuple[Labelled, ...]:
    return label_tokens(
        prompt_tokens=served.prompt_tokens,
        cached_tokens=served.cached_tokens,
        reusable_tokens=reusable,
        label=label,
        cause=cause,
    )


def _not_reported(served: _Served, lane: Sequence[_Conversation], facts: Facts) -> tuple[Labelled, ...]:
    """Of a call that goes on, what the one before left may have been served; of others nothing can be told apart."""
    if not served.by_itself:
        return (Labelled("not reported", None, served.prompt_tokens),)
    reusable = lane[-1].left_tokens if lane and served.prompt_tokens >= lane[-1].prompt_tokens else 0
    return label_tokens(
        prompt_tokens=served.prompt_tokens,
        cached_tokens=None,
        reusable_tokens=reusable,
        granularity=facts.granularity,
        minimum_tokens=facts.minimum_tokens,
    )


def _above_cached(labels: Sequence[Labelled], usage: Usage, price: Price | None, cause: str) -> Decimal | None:
    amounts = [paid.above_cached_usd for paid in price_labels(labels, usage, price) if paid.cause == cause]
    return None if None in amounts else sum((amount for amount in amounts if amount is not None), Decimal(0))


def _go_on(lane: list[_Conversation], before: _Conversation | None, served: _Served, facts: Facts) -> None:
    """Put what this call left in the place of what the call before it had; that of another model stays."""
    usage, timing = served.call.usage, served.call.timing
    if before is not None and before in lane:
        lane.remove(before)
    total_s = None if timing is None else timing.total_s
    lane.append(
        _Conversation(
            index=served.index,
            model=served.call.model,
            at=served.at,
            done=None if served.at is None or total_s is None else served.at + total_s,
            prompt_tokens=served.prompt_tokens,
            reply_tokens=max((usage.output_tokens or 0) - (usage.reasoning_tokens or 0), 0),
            left_tokens=_left(served, facts),
            opening_tokens=served.cached_tokens if before is None else before.opening_tokens,
            lifetime_s=_lifetime(usage, before, facts),
            confirmed=before is not None and before.confirmed,
            growth=before.growth + 1 if before is not None and _grew_by_a_turn(served, before) else 0,
        )
    )
    if len(lane) > MOST_OPEN:
        lane.pop(0)


def _left(served: _Served, facts: Facts) -> int:
    usage = served.call.usage
    if usage.written_tokens or facts.requires_marks or served.call.dialect in _MARKED_DIALECTS:
        return (usage.cached_tokens or 0) + (usage.written_tokens or 0)
    whole_steps = served.prompt_tokens // max(served.granularity, 1) * max(served.granularity, 1)
    return whole_steps if whole_steps >= (facts.minimum_tokens or USUAL_MINIMUM_TOKENS) else 0


def _lifetime(usage: Usage, before: _Conversation | None, facts: Facts) -> float:
    """Of the entry written last: an hour where the vendor says so, else the rule's, else the shortest that is usual."""
    written = usage.written_tokens or 0
    if before is not None and not written:
        return before.lifetime_s
    if written and usage.written_1h_tokens == written:
        return ONE_HOUR_S
    return facts.ttl_s or FIVE_MINUTES_S


def _finding(losses: _Losses) -> Finding:
    found, cause = losses.recognised, losses.cause
    more = "" if losses.count == 1 else f" This shows in {losses.count} calls."
    return Finding(
        verdict=cause.verdict,
        cause=cause.name,
        call=losses.first,
        against=losses.against,
        pointer=None,
        offset=None,
        was=None,
        now=None,
        cacheable_chars=None,
        cacheable_share=None,
        lost_tokens=losses.tokens,
        lost_usd=None if losses.usd is None else float(losses.usd),
        voice=found.voice or cause.voice,
        confidence=found.confidence,
        summary=found.summary + more,
        ruled_out=found.ruled_out,
        advice=found.advice,
        calls=tuple(losses.calls),
        occurrences=losses.count,
        session=losses.session,
    )
