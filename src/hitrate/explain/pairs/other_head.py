"""Conversations that go on under another head than before, in which a clock or an id has moved on, say."""

from __future__ import annotations

from hitrate.explain.evidence import Seen
from hitrate.explain.pairs.heads import Heads
from hitrate.explain.pairs.known_calls import KnownCalls, Tip
from hitrate.explain.pairs.prefix_tree import Walk, common_front
from hitrate.explain.pairs.prompt_shape import Kept, Prompt, kept_text


def goes_on_under_other_head(known: KnownCalls, heads: Heads, seen: Seen, prompt: Prompt, walk: Walk) -> Tip | None:
    """The newest call of a conversation, of the usual broken call: one with all its messages, more behind them, and
    another head. None for any other call, or where a search could find something else.

    It finds that one where no other call was the last to have one of its messages, and what is behind them is new, and
    so is the head: then no whole prompt stands in front, and who has not the newest of the messages has less in common.
    """
    head, digests = prompt.head, prompt.digests
    tip = _tip_with(known, digests, head)
    if tip is None or prompt.rendered or walk.depth >= head or known.apart(tip.call, seen.session):
        return None
    was, owner = tip.prompt, tip.owner
    end = len(was.digests)
    if was.head != head or owner.held != owner.all or was.digests[head:] != digests[head:end]:
        return None
    newest = digests[end - 1]
    if newest in known.common or not prompt.has_replies(head):
        return None
    return tip if owner.ends_new or not _others_have(known, heads, seen, prompt, tip, newest) else None


def _others_have(known: KnownCalls, heads: Heads, seen: Seen, prompt: Prompt, tip: Tip, newest: int) -> bool:
    """Whether the newest message of `tip` is also in another call that a search would look at."""
    others = known.newest_of(seen)
    if (alike := heads.near(prompt)) is not None and alike in known.newest:
        others.append(known.newest[alike])
    return any(call != tip.call and newest in known.tree.digests_of(call) for call in others)


def kept_under_other_head(known: KnownCalls, prompt: Prompt, tip: Tip) -> tuple[int, Kept]:
    """How many parts in front both have, and the text behind the first that differs that both have."""
    was, head = tip.prompt.digests, prompt.head
    shared = common_front(was, prompt.digests)
    if shared < head - 1 or was[shared] in prompt.digests or prompt.digests[shared] in was:
        return shared, kept_text(prompt, was, shared, known.common)
    characters = known.calls[tip.call].message_characters
    return shared, Kept(characters, characters, 0)


def denied_by(known: KnownCalls, prompt: Prompt, front: int) -> int | None:
    """The newest call of the conversation, where it came right behind the call `front` with something else in front of
    the messages, and this prompt goes on without that."""
    tip = known.tip(known.calls[front].seen.conversation)
    if tip is None or known.calls[tip.call].relation != "rewrite" or known.calls[tip.call].against != front:
        return None
    apart = common_front(tip.prompt.digests, prompt.digests) < max(tip.prompt.head, prompt.head)
    return tip.call if apart else None


def _tip_with(known: KnownCalls, digests: list[int], head: int) -> Tip | None:
    """The call that was the last to have the newest known message, where it is the newest of its conversation and
    something stands behind that message."""
    for place in range(len(digests) - 1, head - 1, -1):
        owner = known.last_with.owner_of(digests[place])
        if owner is not None:
            tip = known.as_tip(owner.call)
            ends_here = tip is not None and len(tip.prompt.digests) == place + 1 < len(digests)
            return tip if ends_here else None
    return None
