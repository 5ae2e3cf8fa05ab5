"""Which conversation a call without text goes on with, and what its call before left for it: told by numbers.

A call leaves for the next one what it read from the cache and wrote to it; where a vendor caches by itself and reports
no writes, its whole prompt in steps. In transcripts of real agents on Anthropic the next call reads exactly that, or
nothing (852 of 858 calls of https://github.com/badlogic/pi-mono, packages/coding-agent/test/fixtures). A prompt that
became shorter is a rewind, a compaction or another conversation, and one that grew by less than the reply to it is
another conversation that resembles it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from msgspec import Struct

from hitrate.core.model import Call, Happening, Usage
from hitrate.explain.evidence import Facts
from hitrate.explain.server import own_engine

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

_MOST_HAPPENINGS = 32


class Conversation(Struct):
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


class Served(Struct, frozen=True):
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


Lane = tuple[str, str, str | None]
"""Label, target and model: conversations of different lanes share no cache."""


def remember(lanes: dict[Lane, list[Conversation]], happening: Happening) -> None:
    for conversations in lanes.values():
        for conversation in conversations:
            if len(conversation.since) < _MOST_HAPPENINGS:
                conversation.since.append(happening)


def read_by(served: Served, lane: Sequence[Conversation]) -> Conversation | None:
    """The conversation whose state the call was served: of those it can have read whole, the nearest in size."""
    read = [
        one
        for one in lane
        if 0 < one.left_tokens <= served.prompt_tokens and served.cached_tokens and served.reads(one.left_tokens)
    ]
    return min(read, key=lambda one: (abs(one.left_tokens - served.cached_tokens), -one.index), default=None)


def compacted(served: Served, lane: Sequence[Conversation]) -> Conversation | None:
    """The conversation whose history was replaced just before this call."""
    if served.call.label or not lane:
        return None
    newest = lane[-1]
    expected = min(newest.left_tokens, served.prompt_tokens)
    return newest if happened(newest, "compaction") and expected and not served.reads(expected) else None


def continued(served: Served, lane: Sequence[Conversation]) -> Conversation | None:
    """The conversation that the call goes on with by the sizes of their prompts, though it was not served its state."""
    alone = served.by_itself and len(lane) == 1
    if not alone and served.cached_tokens and any(served.nearly(one.opening_tokens) for one in lane):
        return None  # it was served what another conversation started with: so it starts one, too
    found = [one for one in lane if one.left_tokens and _goes_on(served, one, newest=one is lane[-1], alone=alone)]
    return max(found, key=lambda one: (one.left_tokens, one.index), default=None)


def _goes_on(served: Served, before: Conversation, *, newest: bool, alone: bool) -> bool:
    if before.confirmed and served.by_itself:
        # Thinking that is not sent back makes a prompt grow by less than the reply.
        return _grew(served, before, least=0 if alone else before.reply_tokens, most=(16_384, 0.5))
    return (before.confirmed or (newest and served.by_itself)) and _grew_by_a_turn(served, before)


def _grew_by_a_turn(served: Served, before: Conversation) -> bool:
    """By the reply and a turn of usual size."""
    return _grew(served, before, least=before.reply_tokens, most=(2048, 0.25))


def _grew(served: Served, before: Conversation, *, least: int, most: tuple[int, float]) -> bool:
    """By at least so many tokens, and beyond the reply by at most so many or that share of what there was."""
    growth = served.prompt_tokens - before.prompt_tokens
    tokens, share = most
    within = least <= growth <= before.reply_tokens + max(tokens, before.prompt_tokens * share)
    return within and not _sent_meanwhile(served, before)


def _sent_meanwhile(served: Served, before: Conversation) -> bool:
    """Before the other call was, or before it was answered: then it does not contain its reply."""
    if served.at is None or before.at is None:
        return False
    return served.at < (before.at if before.done is None else before.done)


def on_other_model(served: Served, lanes: dict[Lane, list[Conversation]]) -> Conversation | None:
    """The session's newest conversation, where another model had it until now."""
    if not served.by_itself:
        return None
    others = [lane[-1] for (label, *_), lane in lanes.items() if lane and not label]
    newest = max(others, key=lambda one: one.index, default=None)
    if newest is None or newest.model == served.call.model or not newest.left_tokens or not newest.certain:
        return None
    return newest if not served.reads(newest.left_tokens) and _grew_by_a_turn(served, newest) else None


def happened(conversation: Conversation, kind: str) -> bool:
    return any(happening.kind == kind for happening in conversation.since)


def go_on(lane: list[Conversation], before: Conversation | None, served: Served, facts: Facts) -> None:
    """Put what this call left in the place of what the call before it had; that of another model stays."""
    usage, timing = served.call.usage, served.call.timing
    if before is not None and before in lane:
        lane.remove(before)
    total_s = None if timing is None else timing.total_s
    lane.append(
        Conversation(
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


def _left(served: Served, facts: Facts) -> int:
    usage = served.call.usage
    if usage.written_tokens or facts.requires_marks or served.call.dialect in _MARKED_DIALECTS:
        return (usage.cached_tokens or 0) + (usage.written_tokens or 0)
    whole_steps = served.prompt_tokens // max(served.granularity, 1) * max(served.granularity, 1)
    least = USUAL_MINIMUM_TOKENS if facts.minimum_tokens is None else facts.minimum_tokens
    return whole_steps if whole_steps >= least else 0


def _lifetime(usage: Usage, before: Conversation | None, facts: Facts) -> float:
    """Of the entry written last: an hour where the vendor says so, else the rule's, else the shortest that is usual at
    a vendor. An engine of one's own keeps what it has room for."""
    written = usage.written_tokens or 0
    if before is not None and not written:
        return before.lifetime_s
    if written and usage.written_1h_tokens == written:
        return ONE_HOUR_S
    if facts.ttl_s is not None:
        return facts.ttl_s
    return inf if own_engine(facts) else FIVE_MINUTES_S
