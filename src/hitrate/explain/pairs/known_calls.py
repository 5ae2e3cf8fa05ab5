"""What pairing remembers of every call: some sixty bytes each, and where each part was last seen."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

from msgspec import Struct

from hitrate.core.prompt import Part
from hitrate.core.recent import Recent
from hitrate.explain.evidence import Relation, Seen
from hitrate.explain.pairs.newest_with import NewestWith, Owner
from hitrate.explain.pairs.prefix_tree import PrefixTree, Walk
from hitrate.explain.pairs.prompt_shape import Prompt, go_on_with

_TIPS = 256
"""Conversations whose newest prompt is kept with the kinds and lengths of its parts."""

_LATELY = 4
_SAME_END = 16
"""Calls that are looked through for one that ends at a place: more end with "Continue." than are worth a look."""


_digest_of = attrgetter("digest")


class Tip(Struct, gc=False):
    """The newest answered call of a conversation; moves on with it."""

    call: int
    seen: Seen
    prompt: Prompt
    owner: Owner
    """Of its messages."""
    usual: Any = None
    """What who judges the calls keeps of the conversation, for one that goes on from this call."""


class KnownCalls:
    """Calls and conversations are numbered from 0 in the order they come; -1 stands for none in the arrays."""

    def __init__(self) -> None:
        self.tree = PrefixTree()
        self.indexes = array("q")
        self.answered = bytearray()
        self.against = array("q")
        self.relations: list[Relation] = []
        self.conversations = array("q")
        self.characters = array("q")
        self.message_characters = array("q")
        self.heads = array("I")
        self.sessions: list[str] = []
        self.tips = array("q")
        """Per conversation, its newest answered call, of those that carry it on."""
        self.openings = array("I")
        """Per conversation, the parts of its first prompt."""
        self.common: set[bytes] = set()
        """Messages that several conversations have."""
        self.lately: list[int] = []
        """Conversations that were carried on last, the newest last."""
        self._prompts: Recent[int, Tip] = Recent(_TIPS)
        self.last_with = NewestWith()
        """The newest call with a message, None for a new one."""
        self._ending: dict[bytes, int] = {}
        self._same_end_before = array("q")
        self._newest_in_session: dict[str, int] = {}
        self._newest_with_affinity: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.indexes)

    def ended_with(self, digest: bytes, depth: int, walk: Walk) -> Iterator[int]:
        """Calls whose whole prompt is the first `depth` parts of the walked one, the newest first; `digest` ends it."""
        call = self._ending.get(digest, -1)
        for _ in range(_SAME_END):
            if call < 0:
                return
            if self.tree.depth_of(call) == depth and self.tree.is_front(call, walk):
                yield call
            call = self._same_end_before[call]

    def newest_of(self, seen: Seen) -> list[int]:
        """The newest call of the same session, and of the same affinity key, where the log names them."""
        found = (
            self._newest_in_session.get(seen.session) if seen.session else None,
            self._newest_with_affinity.get(seen.affinity) if seen.affinity else None,
        )
        return [call for call in found if call is not None]

    def answered_for(self, call: int) -> int | None:
        """The call itself, or, where it was not answered, the answered one of its conversation that it continues."""
        if self.answered[call]:
            return call
        return self.against[call] if self.against[call] >= 0 and self.relations[call] != "opening" else None

    def tip(self, conversation: int) -> Tip | None:
        """The newest answered call of a conversation; None where there is none or it was forgotten."""
        return self._prompts.get(conversation)

    def as_tip(self, call: int) -> Tip | None:
        """That call, where it is the newest answered one of its conversation."""
        tip = self.tip(self.conversations[call])
        return tip if tip is not None and tip.call == call else None

    def tip_at(self, seen: Seen) -> Tip | None:
        """Of a call, where it is the newest answered one of its conversation."""
        tip = self._prompts.get(seen.conversation)
        return tip if tip is not None and tip.seen is seen else None

    def apart(self, call: int, session: str) -> bool:
        """Whether the log says that a call belongs to another session than `session`."""
        return session != "" and self.sessions[call] != "" and self.sessions[call] != session

    def note_common(self, prompt: Prompt, conversation: int | None) -> None:
        """Messages of a prompt that were last seen in another conversation than its own are common ones."""
        for digest in prompt.digests[prompt.head :]:
            call = self.last_with(digest)
            if call is not None and self.conversations[call] != conversation:
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
    ) -> int:
        """Remember a call and return the number of its conversation, a new one where `conversation` is None."""
        if conversation is None:
            conversation = len(self.tips)
            self.tips.append(-1)
            self.openings.append(len(prompt.digests))
        call = self.tree.insert(walk, seen.answered)
        owner = self.last_with.note(prompt.digests[prompt.head :], call)
        self._note(seen, prompt, call, relation, against, conversation, characters, owner)
        return conversation

    def record_going_on(self, seen: Seen, tip: Tip, further: Sequence[Part]) -> bool:
        """`record` for an answered call that has the newest prompt of a conversation in front and new parts behind it,
        with which the tip moves on. False, with nothing changed, where something was sent behind that prompt, or an
        answered call has sent it again."""
        before, prompt = tip.call, tip.prompt
        digests = list(map(_digest_of, further))
        call = self.tree.extend(before, digests)
        if call is None:
            return False
        head, conversation = prompt.head, seen.conversation
        more = go_on_with(prompt, further, digests)
        if not self.last_with.go_on(tip.owner, call, digests):
            tip.owner = self.last_with.note(prompt.digests[head:], call)
        tip.call = call
        tip.seen = seen
        self.indexes.append(seen.index)
        self.answered.append(True)
        self.against.append(before)
        self.relations.append("append")
        self.conversations.append(conversation)
        self.characters.append(self.characters[before] + more)
        self.message_characters.append(self.message_characters[before] + more)
        self.heads.append(head)
        self.sessions.append(seen.session)
        self._note_end(digests[-1], call)
        self._note_names(seen, call)
        self.tips[conversation] = call
        lately = self.lately
        if lately[-1] != conversation:
            self._move_to_front(conversation)
        return True

    def _note(
        self,
        seen: Seen,
        prompt: Prompt,
        call: int,
        relation: Relation,
        against: int | None,
        conversation: int,
        characters: int,
        owner: Owner,
    ) -> None:
        digests, head = prompt.digests, prompt.head
        self.indexes.append(seen.index)
        self.answered.append(seen.answered)
        self.against.append(-1 if against is None else against)
        self.relations.append(relation)
        self.conversations.append(conversation)
        self.characters.append(characters)
        self.message_characters.append(characters - sum(prompt.sizes[:head]))
        self.heads.append(head)
        self.sessions.append(seen.session)
        if digests:
            self._note_end(digests[-1], call)
        else:
            self._same_end_before.append(-1)
        self._note_names(seen, call)
        if seen.answered and relation != "summary":
            self.tips[conversation] = call
            self._prompts.put(conversation, Tip(call, seen, prompt, owner))
            lately = self.lately
            if not lately or lately[-1] != conversation:
                self._move_to_front(conversation)

    def _note_end(self, digest: bytes, call: int) -> None:
        self._same_end_before.append(self._ending.get(digest, -1))
        self._ending[digest] = call

    def _note_names(self, seen: Seen, call: int) -> None:
        if seen.session:
            self._newest_in_session[seen.session] = call
        if seen.affinity:
            self._newest_with_affinity[seen.affinity] = call

    def _move_to_front(self, conversation: int) -> None:
        if conversation in self.lately:
            self.lately.remove(conversation)
        self.lately.append(conversation)
        del self.lately[:-_LATELY]

    def check_integrity(self) -> None:
        """Raise AssertionError, with what is wrong, unless what is kept of the calls agrees."""
        self.tree.check_integrity()
        total = len(self)
        columns = (self.answered, self.against, self.relations, self.conversations, self.characters, self.heads)
        assert len(self.tree) == total and all(len(column) == total for column in columns), "columns differ in length"
        for call in range(total):
            against, end = self.against[call], self._same_end_before[call]
            assert -1 <= against < call, f"call {call} is compared with call {against}, which is not before it"
            assert against < 0 or self.answered[against], f"call {call} is compared with call {against}, not answered"
            assert (against < 0) == (self.relations[call] in ("first", "side")), f"call {call} has no call beside it"
            assert -1 <= end < call, f"call {call} ends as call {end}, which is not before it"
            assert 0 <= self.conversations[call] < len(self.tips), f"call {call} is in no conversation"
        for conversation, tip in enumerate(self.tips):
            assert tip < 0 or self.conversations[tip] == conversation, f"call {tip} is no tip of {conversation}"
            kept = self.tip(conversation)
            assert kept is None or kept.prompt.digests == self.tree.digests_of(tip), f"another prompt at call {tip}"
        self.last_with.check_integrity()
        for digest, call in self.last_with:
            assert digest in self.tree.digests_of(call), f"call {call} lacks a part that it was the last to have"
