"""Prompts that carry a conversation on without one of its messages as it was: told by their shape, and by the texts of
a message or two where these are at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hitrate.explain.pairs.likeness import alike, carries, resumes
from hitrate.explain.pairs.prompt_shape import REPLY_KINDS, Prompt

TextsOf = Callable[[int], Sequence[str]]
"""The texts of the parts of a call, by its index in the log."""

_SAME_LENGTH = 0.1
_MOSTLY = 0.5
_MOST_SUMMARY_MESSAGES = 3
_LEAST_MESSAGES = 4
"""A conversation shorter than this has nothing to be summed up."""
_SUMMARY_SHARE = 0.25
"""Of a conversation's text that one message has to be long as, to carry it."""


class Texts:
    """The texts of two calls, read when they are asked for."""

    def __init__(self, texts_of: TextsOf, now: int, was: int) -> None:
        self._texts_of = texts_of
        self._now, self._was = now, was

    def now(self) -> Sequence[str]:
        return self._texts_of(self._now)

    def was(self) -> Sequence[str]:
        return self._texts_of(self._was)


def has_grown(now: Prompt, was: Prompt, shared: int, texts: Texts | None) -> bool:
    """Whether only the last part of the earlier prompt differs, and it goes on in place: so the prompt is the earlier
    one with text behind it. False where there are no texts to tell."""
    if texts is None or shared != len(was.digests) - 1 or now.sizes[shared] <= was.sizes[shared]:
        return False
    return texts.now()[shared].startswith(texts.was()[shared])


def is_replayed(now: Prompt, was: Prompt, shared: int, texts: Texts | None) -> bool:
    """Whether the prompt is the earlier one sent again with more behind, though all of it from part `shared` changed.

    The roles of the changed parts are the same, more parts follow, and the model has answered in them: what was the
    newest message is history now. Without texts the lengths have to say the rest.
    """
    end = len(was.digests)
    place = max(shared, was.head)
    if place >= end or len(now.digests) <= end or not _same_roles(now, was, place):
        return False
    if now.has_replies(0) and not now.has_replies(place):
        return False
    last_only = place == end - 1
    if now.is_in_pieces:
        return last_only and texts is not None and resumes(texts.was()[place], "".join(texts.now()[place : place + 2]))
    if last_only and shared == place and was.parts[place].kind == "assistant":
        return True  # the beginning of an answer, which the answer itself has taken the place of
    if texts is not None:
        if "image" in (was.parts[place].kind, now.parts[place].kind):
            return True  # the same message with its picture replaced: there is no text to compare
        return alike(texts.was()[place], texts.now()[place])
    if not now.has_replies(0):
        return last_only and sum(was.sizes[:place]) >= _MOSTLY * sum(was.sizes)
    return last_only or all(
        abs(one - other) <= _SAME_LENGTH * max(one, other)
        for one, other in zip(was.sizes[place:], now.sizes[place:end], strict=True)
    )


def is_resent(now: Prompt, was: Prompt, shared: int, texts: Texts | None) -> bool:
    """Whether every part of the earlier prompt from `shared` on came again in its place, as it was or hardly changed
    (with other ids, say), and more behind. False where there are no texts to tell."""
    end = len(was.digests)
    if texts is None or shared >= end or len(now.digests) <= end or not _same_roles(now, was, shared):
        return False
    if any(abs(now.sizes[place] - was.sizes[place]) > _SAME_LENGTH * was.sizes[place] for place in range(shared, end)):
        return False
    return all(
        now.digests[place] == was.digests[place] or alike(texts.was()[place], texts.now()[place])
        for place in range(shared, end)
    )


def begins_anew(now: Prompt, messages: int, shared: int, texts: Texts | None) -> bool:
    """Whether a prompt with another head starts a conversation that only asks the same: the earlier prompt has more
    `messages`, or other instructions altogether."""
    if now.has_replies(now.head):
        return False
    if len(now.digests) - now.head < messages:
        return True
    if texts is None or now.parts[shared].kind != "system":
        return False
    return not alike(texts.was()[shared], texts.now()[shared])


def _same_roles(now: Prompt, was: Prompt, place: int) -> bool:
    end = len(was.digests)
    pairs = zip(was.parts[place:], now.parts[place:end], strict=True)
    return all((one.kind in REPLY_KINDS) == (other.kind in REPLY_KINDS) for one, other in pairs)


class Carrier(NamedTuple):
    """A prompt of so few messages that one may hold the text of a conversation."""

    messages: int
    place: int
    """Of the longest message, the last one of that size."""
    size: int
    """Code points in it."""


def may_carry(now: Prompt) -> Carrier | None:
    """None for a prompt of more messages."""
    messages = len(now.digests) - now.head
    if not 0 < messages <= _MOST_SUMMARY_MESSAGES:
        return None
    size = max(now.sizes[now.head :])
    return Carrier(messages, len(now.sizes) - 1 - now.sizes[::-1].index(size), size)


def is_enough(carrier: Carrier, characters: int) -> bool:
    """Whether its message is long enough to hold a conversation of so many code points."""
    return carrier.size >= _SUMMARY_SHARE * characters > 0


def carries_conversation(carrier: Carrier, was: Prompt, texts: Texts | None, expected: bool) -> bool:
    """Whether it holds the text of a conversation for which it `is_enough`. Without texts its length has to say so, and
    `expected` that it came right behind the conversation or under its name."""
    if len(was.digests) - was.head < max(_LEAST_MESSAGES, 2 * carrier.messages):
        return False
    if texts is not None:
        return carries(texts.now()[carrier.place], texts.was()[was.head :])
    length = was.message_characters
    few = carrier.messages < _MOST_SUMMARY_MESSAGES
    return expected and few and _MOSTLY * length <= carrier.size <= 2 * length
