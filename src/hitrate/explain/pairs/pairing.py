"""Which conversation a call carries on, how it relates to the call before it there, and which call serves it best.

No ids are needed: an agent sends its whole history each time, so the messages themselves say whose they are. The usual
call is told in `going_on`. Of others, some have an earlier prompt in front, which the newest known message shows; else
the conversation is the one whose messages make up most of the prompt, wherever they stand in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from hitrate.core.prompt import Sketch
from hitrate.core.wires import RENDERED, wire_named
from hitrate.explain.evidence import HEALTHY, Pair, Relation, Seen
from hitrate.explain.pairs.fan_in import is_beside, joins, went_apart, whole_in_front, whose_answer
from hitrate.explain.pairs.found import Found
from hitrate.explain.pairs.going_on import goes_on_from, going_on
from hitrate.explain.pairs.heads import Heads, heads_alike
from hitrate.explain.pairs.known_calls import KnownCalls
from hitrate.explain.pairs.likeness import alike
from hitrate.explain.pairs.other_head import denied_by, goes_on_under_other_head, kept_under_other_head
from hitrate.explain.pairs.prefix_tree import Walk, common_front
from hitrate.explain.pairs.prompt_shape import REPLY_KINDS, Prompt, goes_on, kept_text, prompt_of, weight
from hitrate.explain.pairs.replay import (
    Texts,
    TextsOf,
    begins_anew,
    carries_conversation,
    has_grown,
    is_enough,
    is_replayed,
    is_resent,
    may_carry,
)

_CANDIDATES = 6
_SAME_CONVERSATION = 0.2
"""Of the messages of the shorter prompt, by characters, that have to be in both."""
_SAME_SESSION = 0.1
"""The same where the log names one session for both."""
_MUCH = 400
"""Code points of shared messages that are enough however long the prompts are."""
_KEPT = 0.05
"""Of the earlier prompt's messages behind a change, that have to stand behind it still for it to be a rewrite."""
_MOSTLY = 0.5
"""The same in pieces of a fixed size, which others share by chance; and in all where two such prompts start unlike."""
_BESIDE = 0.25
"""Of the length of the conversation's prompt, that a side request has at most."""
_BESIDE_MESSAGES = 3


class Pairing:
    """Takes the calls of a log in order.

    `texts_of` gives the texts of the parts of a call by its index, the newest one included. It is asked only where
    hashes cannot tell: whether a last message grew or changed, and whether a prompt carries a conversation's text.
    Without it such a prompt counts as changed, and a comparison of the texts has to say what it is.

    Of a call that is known to go on from an earlier one, `tip_at(earlier)` gives the tip, None where the earlier one is
    not the newest answered call of its conversation. `goes_on_from(tip, seen, further)` then takes the place of `add`:
    it pairs the call, whose conversation and session are said to be the tip's, as one that has the tip's prompt in
    front and the parts `further` behind it. False, with nothing changed, where `add` has to look at it.
    """

    def __init__(self, texts_of: TextsOf | None = None) -> None:
        known = self._known = KnownCalls()
        self.tip_at, self.goes_on_from = known.tip_at, partial(goes_on_from, known)  # asked for each usual call
        self._heads = Heads()
        self._texts_of = texts_of

    def add(self, seen: Seen, sketch: Sketch) -> Pair:
        """Pair the next call. Sets `seen.conversation`, too."""
        known = self._known
        if usual := going_on(known, seen, sketch.parts):
            return usual
        prompt = prompt_of(sketch, rendered=wire_named(seen.dialect) == RENDERED)
        walk = known.tree.walk(prompt.digests)
        best = walk.best
        found = self._under_other_head(seen, prompt, walk)
        if found is None and (front := self._front(prompt, walk, seen.session)) is not None:
            found = self._carried_on(seen, prompt, walk, front)
        elif found is None:
            found = self._searched(seen, prompt, walk)
            known.note_common(prompt, found.conversation)
        shared = self._shared_characters(prompt, found)
        relation, against = found.relation, found.against
        if found.grown and against is not None:  # it goes on inside the next part, which no other call was shown to do
            best = against, found.shared
        known.record(seen, prompt, walk, relation, against, found.conversation, sum(prompt.sizes))
        if found.conversation is None:
            self._heads.add(prompt, seen.conversation)
        return Pair(
            relation=relation,
            against=None if against is None else known.calls[against].seen.index,
            shared_parts=found.shared,
            shared_characters=shared,
            kept_characters=found.kept.characters,
            shift=found.kept.shift,
            best=None if best is None else known.calls[best[0]].seen.index,
            best_characters=0 if best is None else shared if best[1] == found.shared else sum(prompt.sizes[: best[1]]),
            conversation=seen.conversation,
            near=None if found.near is None else known.calls[found.near].seen.index,
            retry_of=None if found.retry_of is None else known.calls[found.retry_of].seen.index,
            denied=None if found.denied is None else known.calls[found.denied].seen.index,
        )

    def check_integrity(self) -> None:
        """As `KnownCalls.check_integrity`."""
        self._known.check_integrity()

    def _shared_characters(self, prompt: Prompt, found: Found) -> int:
        if (against := found.against) is not None and (
            found.grown or found.shared == self._known.tree.depth_of(against)
        ):
            return self._known.calls[against].characters
        return sum(prompt.sizes[: found.shared])

    def _under_other_head(self, seen: Seen, prompt: Prompt, walk: Walk) -> Found | None:
        tip = goes_on_under_other_head(self._known, self._heads, seen, prompt, walk)
        if tip is None:
            return None
        shared, kept = kept_under_other_head(self._known, prompt, tip)
        return Found("rewrite", tip.call, tip.seen.conversation, shared, kept)

    def _front(self, prompt: Prompt, walk: Walk, session: str) -> int | None:
        """The call whose whole prompt stands in front, where nothing behind it was ever sent; else None."""
        known, digests = self._known, prompt.digests
        for place in range(len(digests) - 1, prompt.head - 1, -1):
            call = known.last_with(digests[place])
            if call is None:
                continue
            fits = known.tree.depth_of(call) == place + 1 and known.tree.is_front(call, walk)
            if fits and not known.apart(call, session):
                return call
            ended = list(known.ended_with(digests[place], place + 1, walk))
            own = [other for other in ended if not known.apart(other, session)]
            return next(iter((*own, *self._front_in_session(prompt, walk, session), *ended)), None)
        return None

    def _front_in_session(self, prompt: Prompt, walk: Walk, session: str) -> list[int]:
        """The newest call of the session, where its whole prompt stands in front."""
        known = self._known
        newest = known.newest_of(Seen(index=-1, session=session))
        return [call for call in newest if known.tree.depth_of(call) > prompt.head and known.tree.is_front(call, walk)]

    def _carried_on(self, seen: Seen, prompt: Prompt, walk: Walk, front: int) -> Found:
        """A prompt that repeats or continues the prompt of the call `front`.

        Where that call was not answered, the prompt is compared with the answered one before it and relates to it as
        the failed call did: a break stays a break when it is sent again. With none before it the prompt is a start.
        """
        known = self._known
        same = known.tree.depth_of(front) == len(prompt.digests)
        retry_of = front if same else None
        conversation = self._conversation_behind(seen, prompt, front)
        if conversation is None and (resent := self._resent(seen, prompt, front)) is not None:
            return resent
        against = known.answered_for(front)
        if against is None:
            return self._start(seen, prompt, walk)._replace(conversation=conversation, retry_of=retry_of)
        if known.tree.is_front(against, walk):
            relation: Relation = "repeat" if same else "append"
            denied = denied_by(known, prompt, front) if conversation is None else None
            depth = known.tree.depth_of(against)
            return Found(relation, against, conversation, depth, retry_of=retry_of, denied=denied)
        was = known.tree.digests_of(against)
        shared = common_front(was, prompt.digests)
        relation = known.calls[front].relation
        if relation in HEALTHY:
            return Found("repeat" if same else relation, against, conversation, shared, retry_of=retry_of)
        kept = kept_text(prompt, was, shared, known.common)
        return Found(relation, against, conversation, shared, kept, retry_of=retry_of)

    def _resent(self, seen: Seen, prompt: Prompt, front: int) -> Found | None:
        """The prompt as the newest of the conversation of the call `front`, with all its messages changed behind it."""
        known = self._known
        conversation = known.calls[front].seen.conversation
        tip = known.tip(conversation)
        if tip is None or tip.call == front or known.apart(tip.call, seen.session):
            return None
        shared = common_front(tip.prompt.digests, prompt.digests)
        if shared < known.tree.depth_of(front):
            return None  # it took the place of that call under another front, which this prompt goes on without
        if not is_resent(prompt, tip.prompt, shared, self._texts(seen, tip.call)):
            return None
        kept = kept_text(prompt, tip.prompt.digests, shared, known.common)
        return Found("rewrite", tip.call, conversation, shared, kept)

    def _conversation_behind(self, seen: Seen, prompt: Prompt, front: int) -> int | None:
        """The conversation of a call that goes on behind the call `front`.

        A new one where that conversation has gone on in another way (a fork, or agents that began alike), and where
        the log names another session, unless answers in the shared text show that this one was resumed from it.
        """
        known = self._known
        depth = known.tree.depth_of(front)
        conversation = known.calls[front].seen.conversation
        gone_on = known.newest.get(conversation, front) != front
        if known.calls[front].seen.answered and gone_on and depth < len(prompt.digests):
            return None
        if known.apart(front, seen.session):
            resumed = any(part.kind == "assistant" for part in prompt.parts[prompt.head : depth])
            return conversation if resumed else None
        return conversation

    def _searched(self, seen: Seen, prompt: Prompt, walk: Walk) -> Found:
        whole = len(prompt.digests)
        if whole > prompt.head:
            for call in self._known.ended_with(prompt.digests[-1], whole, walk):
                if not self._known.apart(call, seen.session):
                    return self._carried_on(seen, prompt, walk, call)
        front = whole_in_front(self._known, seen, prompt, walk)
        if front is not None and is_beside(self._known, prompt, front):
            return self._carried_on(seen, prompt, walk, front)
        candidate = self._most_in_common(seen, prompt)
        found = None if candidate is None else self._related(seen, prompt, walk, candidate, front)
        if found is None and not joins(self._known, seen, prompt):
            found = self._summary(seen, prompt) or self._replay(seen, prompt, walk)
        return found or self._start(seen, prompt, walk)

    def _most_in_common(self, seen: Seen, prompt: Prompt) -> int | None:
        """The call with most of this prompt's messages, if these are enough to be the same conversation."""
        known = self._known
        votes: dict[int, float] = {}
        for digest, size in zip(prompt.digests[prompt.head :], prompt.sizes[prompt.head :], strict=True):
            call = known.last_with(digest)
            if call is not None:
                votes[call] = votes.get(call, 0.0) + weight(digest, size, known.common)
        calls = sorted(votes, key=lambda call: (votes[call], call), reverse=True)[:_CANDIDATES]
        best: tuple[float, int, bool, int] | None = None
        for call in {*calls, *known.newest_of(seen), *self._like_headed(prompt)}:
            was = known.tree.digests_of(call)
            in_common = self._in_common(prompt, was[known.calls[call].head :])
            least = _SAME_SESSION if known.calls[call].seen.session == seen.session != "" else _SAME_CONVERSATION
            shorter = min(prompt.message_characters, known.calls[call].message_characters)
            if in_common <= 0 or in_common < min(least * shorter, _MUCH):
                continue
            if prompt.is_in_pieces and in_common < shorter * (least if was[:1] == prompt.digests[:1] else _MOSTLY):
                continue
            if not self._may_be_one(seen, prompt, call, was):
                continue
            shared = common_front(was, prompt.digests)
            apart = known.apart(call, seen.session)
            score = in_common * (0.5 if apart and shared < len(was) else 1.0)
            best = max(best or (0.0, 0, False, 0), (score, shared, not apart, call))
        return None if best is None else best[3]

    def _like_headed(self, prompt: Prompt) -> list[int]:
        """The newest call of a conversation whose head is nearly this one's."""
        conversation = self._heads.near(prompt)
        newest = None if conversation is None else self._known.newest.get(conversation)
        return [] if newest is None else [newest]

    def _may_be_one(self, seen: Seen, prompt: Prompt, call: int, was: list[int]) -> bool:
        """Whether more than a question that anybody may ask speaks for one conversation: the log's own name for it, a
        head that is the same in part or in shape, an answer that both have, or the prompt going on from the call."""
        known = self._known
        if known.calls[call].seen.session == seen.session != "" or not (prompt.head or known.calls[call].head):
            return True
        head = was[: known.calls[call].head]
        if not set(head).isdisjoint(prompt.digests[: prompt.head]):
            return True
        messages = was[len(head) :]
        rest = set(messages).difference(known.common)
        if any(part.kind in REPLY_KINDS and part.digest in rest for part in prompt.parts[prompt.head :]):
            return True
        own = prompt.digests[prompt.head :]
        if rest and len(own) > len(messages) and own[: len(messages)] == messages:
            return True
        tip = known.as_tip(call)
        if tip is None or not heads_alike(prompt, tip.prompt):
            return False
        texts = self._texts(seen, call)  # last, since they have to be read
        return texts is None or alike(texts.was()[0], texts.now()[0])

    def _in_common(self, prompt: Prompt, was: Iterable[int]) -> float:
        shared = set(was).intersection(prompt.digests[prompt.head :])
        return sum(
            weight(digest, size, self._known.common)
            for digest, size in zip(prompt.digests[prompt.head :], prompt.sizes[prompt.head :], strict=True)
            if digest in shared
        )

    def _related(self, seen: Seen, prompt: Prompt, walk: Walk, in_common: int, front: int | None) -> Found | None:
        """How the prompt relates to a call of its conversation; None where it is another conversation after all.
        `front` is as of `whole_in_front`."""
        known = self._known
        call = known.answered_for(in_common)
        if known.tree.is_front(in_common, walk):
            return self._carried_on(seen, prompt, walk, in_common)
        if call is None:
            return self._start(seen, prompt, walk)._replace(conversation=known.calls[in_common].seen.conversation)
        was = known.tree.digests_of(call)
        shared = common_front(was, prompt.digests)
        if shared == len(was):
            return self._carried_on(seen, prompt, walk, call)
        if front is not None and shared < known.tree.depth_of(front) and went_apart(known, call, front):
            return self._carried_on(seen, prompt, walk, front)  # it goes on there, and takes this one in
        conversation: int | None = known.calls[call].seen.conversation
        if known.apart(call, seen.session) and not prompt.has_replies(prompt.head):
            conversation = None
        if shared == len(prompt.digests):
            return Found("rewind", call, conversation, shared)
        tip = known.as_tip(call)
        texts = self._texts(seen, call)
        if tip is not None and has_grown(prompt, tip.prompt, shared, texts):
            return Found("append", call, conversation, shared, grown=True)
        kept = kept_text(prompt, was, shared, known.common)
        head = known.calls[call].head
        same_head = shared >= max(prompt.head, head)
        fronts = known.ended_with(prompt.digests[shared - 1], shared, walk) if same_head and shared > head else iter(())
        behind = known.calls[call].message_characters - sum(prompt.sizes[prompt.head : shared])
        one_changed = (
            shared + 1 < len(was) < len(prompt.digests) and was[shared + 1 :] == prompt.digests[shared + 1 : len(was)]
        )
        if one_changed or kept.in_messages > (_MOSTLY if prompt.is_in_pieces else _KEPT) * behind:
            shorter = len(prompt.digests) <= len(was) and not goes_on(prompt, was, shared, known.common)
            asked = next(fronts, None) if shorter else None
            if asked is not None:  # the same question behind another answer to the one before
                return self._carried_on(seen, prompt, walk, asked)
            if not same_head and (begins_anew(prompt, len(was) - head, shared, texts) or joins(known, seen, prompt)):
                return None
            return Found("rewrite", call, conversation, shared, kept)
        if not same_head:
            return None
        giver = whose_answer(known, prompt, walk, shared)
        if giver is not None and known.calls[giver].seen.answered:
            return self._related(seen, prompt, walk, giver, front)
        if tip is not None and giver is None and is_replayed(prompt, tip.prompt, shared, texts):
            return Found("rewrite", call, conversation, shared, kept)
        asked = next(fronts, None)
        if asked is not None:
            return self._carried_on(seen, prompt, walk, asked)
        if shared <= head:
            return None
        if (
            known.calls[call].seen.session == seen.session != ""
            or shared >= known.openings[known.calls[call].seen.conversation]
        ):
            return Found("branch", call, conversation, shared)
        return self._start(seen, prompt, walk)  # both begin with the same examples, or the same question

    def _texts(self, seen: Seen, call: int) -> Texts | None:
        return None if self._texts_of is None else Texts(self._texts_of, seen.index, self._known.calls[call].seen.index)

    def _summary(self, seen: Seen, prompt: Prompt) -> Found | None:
        """A request that carries a conversation in one message; it belongs to it and does not carry it on."""
        known = self._known
        carrier = may_carry(prompt)
        if carrier is None:
            return None
        own = known.newest_of(seen)
        for conversation in dict.fromkeys((*(known.calls[call].seen.conversation for call in own), *known.lately())):
            newest = known.newest.get(conversation)
            if newest is None or not is_enough(carrier, known.calls[newest].message_characters):
                continue
            tip = known.tip(conversation)
            if tip is None or known.apart(newest, seen.session):
                continue
            expected = tip.call in own or tip.call == len(known) - 1
            if carries_conversation(carrier, tip.prompt, self._texts(seen, tip.call), expected):
                shared = common_front(tip.prompt.digests, prompt.digests)
                return Found("summary", tip.call, conversation, shared)
        return None

    def _replay(self, seen: Seen, prompt: Prompt, walk: Walk) -> Found | None:
        """A conversation none of whose messages came back as they were sent: it has one message or few, and goes on."""
        known = self._known
        newest = [known.calls[call].seen.conversation for call in known.newest_of(seen)]
        compacted = any(happening.kind == "compaction" for happening in seen.happenings)
        if not (compacted or prompt.has_replies(prompt.head)):
            return None
        near = [known.calls[call].seen.conversation for call in self._like_headed(prompt)]
        for conversation in dict.fromkeys((*newest, *self._heads.same(prompt), *near)):
            tip = known.tip(conversation)
            if tip is None or known.apart(tip.call, seen.session) or not heads_alike(prompt, tip.prompt):
                continue
            shared = common_front(tip.prompt.digests, prompt.digests)
            replaced = compacted and known.calls[tip.call].seen.session == seen.session != "" and shared >= prompt.head
            own = whose_answer(known, prompt, walk, shared) is None
            if replaced or (own and is_replayed(prompt, tip.prompt, shared, self._texts(seen, tip.call))):
                return Found("rewrite", tip.call, conversation, shared)
        return None

    def _start(self, seen: Seen, prompt: Prompt, walk: Walk) -> Found:
        """A conversation of its own."""
        known = self._known
        near = next(iter(self._like_headed(prompt)), None)
        best = walk.best
        if best is not None:
            return Found("opening", best[0], None, best[1], near=near)
        beside = known.newest_of(seen)[:1] or ([len(known) - 1] if len(known) else [])
        small = any(sum(prompt.sizes) <= _BESIDE * known.calls[call].characters for call in beside)
        plain = all(part.kind not in ("tools", "schema") for part in prompt.parts)
        if small and plain and len(prompt.digests) - prompt.head <= _BESIDE_MESSAGES:
            return Found("side", near=near)
        return Found("first", near=near)
