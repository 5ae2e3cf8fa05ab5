"""Prompts that bring together what several conversations said: an agent that reads the answers of others, or goes on
with one conversation and takes in another's on the way. What they repeat of each is no change of any.
"""

from __future__ import annotations

from hitrate.explain.evidence import HEALTHY, Seen
from hitrate.explain.pairs.known_calls import KnownCalls
from hitrate.explain.pairs.prefix_tree import Walk, common_front
from hitrate.explain.pairs.prompt_shape import REPLY_KINDS, Prompt


def whole_in_front(known: KnownCalls, seen: Seen, prompt: Prompt, walk: Walk) -> int | None:
    """The newest of the answered calls that agree longest, where its whole prompt, with a message at least, stands in
    front."""
    best = walk.best
    if best is None:
        return None
    call, shared = best
    is_whole = prompt.head < shared == known.tree.depth_of(call) and known.tree.is_front(call, walk)
    return call if is_whole and not known.apart(call, seen.session) else None


def is_beside(known: KnownCalls, prompt: Prompt, front: int) -> bool:
    """Whether a prompt goes on from the newest call of a conversation with messages that were all sent before: two
    agents with other instructions go through one history side by side."""
    is_newest = known.newest.get(known.calls[front].seen.conversation) == front
    return is_newest and known.last_with(prompt.digests[-1]) is not None


def went_apart(known: KnownCalls, call: int, front: int) -> bool:
    """Whether a call is no later state of what the call `front` began: of another conversation, or of a branch."""
    while call > front:
        if (
            known.calls[call].relation == "branch"
            or known.calls[call].seen.conversation != known.calls[front].seen.conversation
        ):
            return True
        call = known.calls[call].against
    return call != front


def whose_answer(known: KnownCalls, prompt: Prompt, walk: Walk, start: int) -> int | None:
    """A call that had an answer at or behind part `start`, and all in front of it, as this prompt has them. The prompt
    goes on with that call's history then, and is no change of one that has something else there.

    A question may be changed into one that others ask; an answer comes with it only from where it was given. A failed
    call that was a change itself is none: a break stays a break when it is sent again.
    """
    kinds = (part.kind for part in prompt.parts[start : walk.depth])
    place = next((place for place, kind in enumerate(kinds, start) if kind in REPLY_KINDS), None)
    if place is None:
        return None
    best = walk.best
    if best is not None and place < best[1]:
        return best[0]
    failed = known.last_with(prompt.digests[place])
    if failed is None or known.calls[failed].relation not in HEALTHY:
        return None
    return failed if common_front(known.tree.digests_of(failed), prompt.digests) > place else None


def joins(known: KnownCalls, seen: Seen, prompt: Prompt) -> bool:
    """Whether the messages of several conversations stand in it, all of each in a row and with an answer behind.

    In a conversation that was sent with other instructions only its own do, since no message inside it is one that
    another conversation began with.
    """
    found: set[int] = set()
    messages: dict[int, list[int]] = {}
    place, end = prompt.head, len(prompt.digests)
    while place < end:
        call = known.last_with(prompt.digests[place])
        if call is not None and call not in messages:
            apart = known.apart(call, seen.session)
            messages[call] = [] if apart else known.tree.digests_of(call)[known.calls[call].head :]
        own = [] if call is None else messages[call]
        behind = place + len(own)
        if call is None or not own or behind >= end or prompt.digests[place:behind] != own:
            place += 1
        elif prompt.parts[behind].kind in REPLY_KINDS:
            found.add(known.calls[call].seen.conversation)
            place = behind
        else:
            place += 1
    return len(found) > 1
