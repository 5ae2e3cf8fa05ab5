"""The usual call: it carries on the newest prompt of a conversation, behind which nothing was sent so far.

By far the most calls of a log are such, and what pairing finds of them follows from little. As for any call, the newest
of its messages that is known decides. Where the last call that had it is the newest of its conversation, ends with it
and has all parts in front of it the same, that whole prompt stands in front of this one. Where nothing was sent behind
that prompt, and no answered call has sent it again, no other call agrees longer: it is the best one, too. Where both
are of one session by the log's own account, no other call has a better claim.
"""

from __future__ import annotations

from collections.abc import Sequence

from hitrate.core.prompt import Part
from hitrate.explain.evidence import Pair, Seen
from hitrate.explain.pairs.known_calls import KnownCalls, Tip
from hitrate.explain.pairs.prompt_shape import digest_of


def going_on(known: KnownCalls, seen: Seen, parts: Sequence[Part]) -> Pair | None:
    """The pair of a usual call, which is recorded in `known`. None for any other call, with nothing changed."""
    tip = _tip_in_front(known, seen, parts)
    if tip is None:
        return None
    before, parts_before = known.calls[tip.call], len(tip.prompt.parts)
    seen.conversation = before.seen.conversation
    if not known.record_going_on(seen, tip, parts[parts_before:]):
        return None
    against = before.seen.index
    return Pair(
        relation="append",
        against=against,
        shared_parts=parts_before,
        shared_characters=before.characters,
        best=against,
        best_characters=before.characters,
        conversation=seen.conversation,
    )


def goes_on_from(known: KnownCalls, tip: Tip, seen: Seen, further: Sequence[Part]) -> bool:
    """Whether a call is usual, and so recorded: an answered one, already said to be of the tip's conversation and
    session, of whose prompt is known that it is that of the tip with `further` parts behind it."""
    owner, owner_of = tip.owner, known.last_with.owner_of
    if any(map(owner_of, map(digest_of, further))) or not owner.all:
        return False
    if owner.held != owner.all and owner_of(tip.prompt.digests[-1]) is not owner:
        return False
    return known.record_going_on(seen, tip, further)


def _tip_in_front(known: KnownCalls, seen: Seen, parts: Sequence[Part]) -> Tip | None:
    last_with = known.last_with
    end = len(parts)
    while end and (call := last_with(parts[end - 1].digest)) is None:
        end -= 1
    if not 0 < end < len(parts) or call is None or not seen.answered:
        return None
    tip = known.tip(known.calls[call].seen.conversation)
    if tip is None or tip.call != call or end <= tip.prompt.head or known.calls[call].seen.session != seen.session:
        return None
    # To compare parts costs next to nothing where they are the very same objects, as those of a sketch that grew are.
    return tip if parts[:end] == tip.prompt.parts else None
