"""What pairing remembers of every call, and where each part was last seen."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

from hitrate.core.prompt import Part
from hitrate.core.recent import Recent
from hitrate.explain.evidence import Relation, Seen
from hitrate.explain.pairs.newest_with import NewestWith, Owner
from hitrate.explain.pairs.prefix_tree import PrefixTree, Walk
from hitrate.explain.pairs.prompt_shape import Prompt, digest_of, go_on_with

_TIPS = 256
"""Conversations whose newest prompt is kept with the kinds and lengths of its parts."""

_LATELY = 4
_SAME_END = 16
"""Calls that are looked through for one that ends at a place: more end with "Continue." than are worth a look."""


class KnownCall(Struct, frozen=True, gc=False):
    seen: Seen
    against: int
    relation: Relation
    characters: int
    message_characters: int
    head: int
    ends_as: int
    """The newest earlier call with the same last part."""


class Tip:
    """The newest answered call of a conversation; moves on with it."""

    __slots__ = ("call", "owner", "prompt", "seen")

    def __init__(self, call: int, seen: Seen, prompt: Prompt, owner: Owner) -> None:
        self.call = call
        self.seen = seen
        self.prompt = prompt
        self.owner = owner
        """Of its messages."""


class KnownCalls:
    """Calls and conversations are numbered from 0 in the order they come; -1 stands for none."""

    def __init__(self) -> None:
        self.tree = PrefixTree()
        self.calls: list[KnownCall] = []
        self.newest: OrderedDict[int, int] = OrderedDict()
        """The newest answered call of each conversation, of those that carry it on; where one came last at the end."""
        self.openings = array("I")
        """Per conversation, the parts of its first prompt."""
        self.common: set[int] = set()
        """Messages that several conversations have."""
        self._tips: Recent[int, Tip] = Recent(_TIPS)
        self.last_with = NewestWith()
        """The newest call with a message, None for a new one."""
        self._ending: dict[int, int] = {}
        self._newest_in_session: dict[str, int] = {}
        self._newest_with_affinity: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.calls)

    def ended_with(self, digest: int, depth: int, walk: Walk) -> Iterator[int]:
        """Calls whose whole prompt is the first `depth` parts of the walked one, the newest first; `digest` ends it."""
        call = self._ending.get(digest, -1)
        for _ in range(_SAME_END):
            if call < 0:
                return
            if self.tree.depth_of(call) == depth and self.tree.is_front(call, walk):
                yield call
            call = self.calls[call].ends_as

    def newest_of(self, seen: Seen) -> list[int]:
        """The newest call of the same session, and of the same affinity key, where the log names them."""
        if not seen.session and not seen.affinity:
            return []
        found = (
            self._newest_in_session.get(seen.session) if seen.session else None,
            self._newest_with_affinity.get(seen.affinity) if seen.affinity else None,
        )
        return [call for call in found if call is not None]

    def answered_for(self, call: int) -> int | None:
        """The call itself, or, where it was not answered, the answered one of its conversation that it continues."""
        if self.calls[call].seen.answered:
            return call
        known = self.calls[call]
        return known.against if known.against >= 0 and known.relation != "opening" else None

    def tip(self, conversation: int) -> Tip | None:
        """The newest answered call of a conversation; None where there is none or it was forgotten."""
        return self._tips.get(conversation)

    def as_tip(self, call: int) -> Tip | None:
        """That call, where it is the newest answered one of its conversation."""
        tip = self.tip(self.calls[call].seen.conversation)
        return tip if tip is not None and tip.call == call else None

    def tip_at(self, seen: Seen) -> Tip | None:
        """Of a call, where it is the newest answered one of its conversation."""
        tip = self._tips.get(seen.conversation)
        return tip if tip is not None and tip.seen is seen else None

    def apart(self, call: int, session: str) -> bool:
        """Whether the log says that a call belongs to another session than `session`."""
        return session != "" and self.calls[call].seen.session not in ("", session)

    def note_common(self, prompt: Prompt, conversation: int | None) -> None:
        """Messages of a prompt that were last seen in another conversation than its own are common ones."""
        for digest in prompt.digests[prompt.head :]:
            call = self.last_with(digest)
            if call is not None and self.calls[call].seen.conversation != conversation:
                self.common.add(digest)

    def record(
        self,
        seen: Seen,
        prompt: Prompt,
        walk: Walk,
        relation: Relation,
        against: int | None,
        conversation: int | None,
        characters: int,
    ) -> None:
        """Remember a call and tell it the number of its conversation, a new one where `conversation` is None."""
        if conversation is None:
            conversation = len(self.openings)
            self.openings.append(len(prompt.digests))
        seen.conversation = conversation
        call = self.tree.insert(walk, seen.answered)
        owner = self.last_with.note(prompt.digests[prompt.head :], call)
        digests, head = prompt.digests, prompt.head
        of_messages = characters - sum(prompt.sizes[:head])
        ends_as = self._ends_as(digests[-1], call) if digests else -1
        against = -1 if against is None else against
        self.calls.append(KnownCall(seen, against, relation, characters, of_messages, head, ends_as))
        self._note_names(seen, call)
        if seen.answered and relation != "summary":
            self._tips.put(conversation, Tip(call, seen, prompt, owner))
            self._note_tip(conversation, call)

    def record_going_on(self, seen: Seen, tip: Tip, further: Sequence[Part]) -> bool:
        """`record` for an answered call that has the newest prompt of a conversation in front and new parts behind it,
        with which the tip moves on. False, with nothing changed, where something was sent behind that prompt, or an
        answered call has sent it again."""
        before, prompt = tip.call, tip.prompt
        known = self.calls[before]
        digests = list(map(digest_of, further))
        call = self.tree.extend(before, digests)
        if call is None:
            return False
        head, conversation = prompt.head, seen.conversation
        more = go_on_with(prompt, further, digests)
        if not self.last_with.go_on(tip.owner, call, digests):
            tip.owner = self.last_with.note(prompt.digests[head:], call)
        tip.call = call
        tip.seen = seen
        characters, of_messages = known.characters + more, known.message_characters + more
        ends_as = self._ends_as(digests[-1], call)
        self.calls.append(KnownCall(seen, before, "append", characters, of_messages, head, ends_as))
        if seen.session or seen.affinity:
            self._note_names(seen, call)
        self._note_tip(conversation, call)
        return True

    def _ends_as(self, digest: int, call: int) -> int:
        """The newest call before that ends with this part, as `call` does now."""
        before = self._ending.get(digest, -1)
        self._ending[digest] = call
        return before

    def _note_names(self, seen: Seen, call: int) -> None:
        if seen.session:
            self._newest_in_session[seen.session] = call
        if seen.affinity:
            self._newest_with_affinity[seen.affinity] = call

    def _note_tip(self, conversation: int, call: int) -> None:
        self.newest[conversation] = call
        self.newest.move_to_end(conversation)

    def lately(self) -> Iterator[int]:
        """Conversations that were carried on last, the newest first."""
        return islice(reversed(self.newest), _LATELY)

    def check_integrity(self) -> None:
        """Raise AssertionError, with what is wrong, unless what is kept of the calls agrees."""
        self.tree.check_integrity()
        total = len(self)
        assert len(self.tree) == total, "the tree has more calls, or fewer"
        for call, known in enumerate(self.calls):
            against, end = known.against, known.ends_as
            assert -1 <= against < call, f"call {call} is compared with call {against}, which is not before it"
            is_whole = against < 0 or self.calls[against].seen.answered
            assert is_whole, f"call {call} is compared with call {against}, not answered"
            assert (against < 0) == (known.relation in ("first", "side")), f"call {call} has no call beside it"
            assert -1 <= end < call, f"call {call} ends as call {end}, which is not before it"
            assert 0 <= known.seen.conversation < len(self.openings), f"call {call} is in no conversation"
        for conversation, tip in self.newest.items():
            assert self.calls[tip].seen.conversation == conversation, f"call {tip} is no tip of {conversation}"
            kept = self.tip(conversation)
            assert kept is None or kept.prompt.digests == self.tree.digests_of(tip), f"another prompt at call {tip}"
        self.last_with.check_integrity()
        for digest, call in self.last_with:
            assert digest in self.tree.digests_of(call), f"call {call} lacks a part that it was the last to have"
