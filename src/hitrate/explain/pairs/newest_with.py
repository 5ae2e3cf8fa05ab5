"""Which call had each message last.

A conversation's next call has all messages of the one before it. So calls are not noted with each message, but with an
owner that all messages of a prompt share: it is enough to tell that another call has it now.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence


class Owner:
    """The newest call with some messages."""

    __slots__ = ("all", "call", "ends_new", "held")

    def __init__(self, call: int, messages: int, ends_new: bool) -> None:
        self.call = call
        self.all = self.held = messages
        """Messages of its prompt, and those of them that no other call had since."""
        self.ends_new = ends_new
        """No call had the last of them before."""


class NewestWith:
    def __init__(self) -> None:
        self._owners: dict[int, Owner] = {}
        self.owner_of = self._owners.get
        """None for a message that is new."""

    def __call__(self, digest: int) -> int | None:
        owner = self.owner_of(digest)
        return None if owner is None else owner.call

    def note(self, messages: Sequence[int], call: int) -> Owner:
        """The newest call has these messages."""
        distinct = dict.fromkeys(messages)
        ends_new = bool(messages) and self.owner_of(messages[-1]) is None
        for before in map(self.owner_of, distinct):
            if before is not None:
                before.held -= 1
        owner = Owner(call, len(distinct), ends_new)
        self._owners.update(dict.fromkeys(distinct, owner))
        return owner

    def go_on(self, owner: Owner, call: int, further: Sequence[int]) -> bool:
        """The newest call has all messages of the owner's prompt and further ones, which are new. False, with nothing
        changed, where another call had some of them since."""
        if owner.held != owner.all:
            return False
        distinct = dict.fromkeys(further, owner)
        self._owners.update(distinct)
        owner.call = call
        owner.all = owner.held = owner.all + len(distinct)
        owner.ends_new = True
        return True

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return ((digest, owner.call) for digest, owner in self._owners.items())

    def check_integrity(self) -> None:
        """Raise AssertionError unless each owner holds as many messages as it says."""
        held: dict[int, int] = {}
        for owner in self._owners.values():
            held[id(owner)] = held.get(id(owner), 0) + 1
        for owner in self._owners.values():
            assert owner.held == held[id(owner)] <= owner.all, f"call {owner.call} holds {held[id(owner)]} messages"
