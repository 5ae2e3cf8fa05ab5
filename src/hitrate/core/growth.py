"""What who read a request's bytes saw of its messages, so that nobody has to look for it again."""

from __future__ import annotations

from msgspec import Struct


class TextMessage(Struct, forbid_unknown_fields=True, gc=False):
    """The most usual message by far."""

    role: str
    content: str


class GoesOn(Struct, frozen=True, gc=False):
    """A call whose body is that of an earlier call of its log with further messages behind, each a role and a text.

    Apart from the body, only line, time, counts and the raw usage that holds them differ between the two calls; neither
    has a session, headers, a status or anything else that few logs have.
    """

    call: int
    """Number of the earlier call among the calls of the log, from 0."""
    front: int
    """Bytes that both bodies begin with: all up to the earlier one's last message."""
    texts: list[TextMessage]
    """One at least."""


class AllTexts(Struct, frozen=True, gc=False):
    """All messages of a request, each a role and a text."""

    start: int
    """Of the JSON array with them, in the body."""
    end: int
    texts: list[TextMessage]
    """One at least."""


Shown = GoesOn | AllTexts
