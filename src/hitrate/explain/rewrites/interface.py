"""What a rewrite is given and has to answer. One file a rewrite beside this one.

A rewrite goes over a log twice: it learns from every request, then makes the new bodies, both in the order sent. It
keeps what it needs to keep of a conversation, so that what was sent once is sent again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol

from hitrate.core.prompt import CanonicalPrompt


class Sent:
    """A request as it was sent, or as the rewrite before left it. Its prompt is read when it is asked for."""

    __slots__ = ("_canonical", "body", "conversation", "dialect")

    def __init__(
        self, body: bytes, dialect: str, conversation: int, canonical: Callable[[bytes, str], CanonicalPrompt]
    ) -> None:
        self.body = body
        self.dialect = dialect
        self.conversation = conversation
        self._canonical = canonical

    @property
    def prompt(self) -> CanonicalPrompt:
        return self._canonical(self.body, self.dialect)


class Rewrite(Protocol):
    name: ClassVar[str]
    """The option's name, without its dashes."""
    about: ClassVar[str]
    """What is done, in one sentence."""
    without_effect: ClassVar[str]
    """Why nothing was to be done, where nothing was."""

    def learn(self, sent: Sent) -> None: ...

    def body(self, sent: Sent) -> bytes:
        """The new body, the very one it was given where there is nothing to do."""
        ...
