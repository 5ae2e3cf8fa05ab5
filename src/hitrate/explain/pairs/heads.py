"""Heads of conversations: what stands in front of the messages, which conversations began with it, and heads like it.

Two heads that differ in a name, a date or an id have no digest of a part in common. Their shape gives them away: parts
of the same kinds and about the same length, or the same tools with other instructions, or the reverse. Shape makes a
candidate only; whether the texts agree is for a comparison of the texts to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hitrate.core.recent import Recent
from hitrate.explain.pairs.prompt_shape import Prompt

_TOLERANCE = 0.1
_SLACK = 24
"""Code points that a name or a date may be longer than another, however short the rest is."""
_SHORTEST = 100
"""Code points of a head below which a difference is no loss worth a comparison; no cache stores so little."""
_SHORTEST_MESSAGE = 1_000
"""The same where the first message has to stand for a head, as every question of a chat is a first message."""

_HEADS_OF_A_SHAPE = 32
_SHAPES = 512
_CONVERSATIONS_OF_A_HEAD = 8


class _Head(NamedTuple):
    key: tuple[int, ...]
    characters: int
    conversations: list[int]
    """The newest last, `_CONVERSATIONS_OF_A_HEAD` at most."""


class _Alike:
    """The newest heads of one shape."""

    def __init__(self) -> None:
        self._heads: list[_Head] = []
        self._lengths: list[int] = []

    def add(self, head: _Head) -> None:
        self._heads.append(head)
        self._lengths.append(head.characters)
        del self._heads[:-_HEADS_OF_A_SHAPE], self._lengths[:-_HEADS_OF_A_SHAPE]

    def nearest(self, characters: int, *, limited: bool) -> tuple[int, int] | None:
        """By how much the length of one differs least from this one, and the newest conversation with such a head; if
        `limited`, of those that are about as long."""
        distances = list(map(abs, map((-characters).__add__, self._lengths)))
        least = min(distances)
        if limited and not _about_as_long(characters - least, characters):
            near = [head for head in self._heads if _about_as_long(head.characters, characters)]
            least = min((abs(head.characters - characters) for head in near), default=0)
            found = [head for head in near if abs(head.characters - characters) == least]
        elif distances.count(least) == 1:
            found = [self._heads[distances.index(least)]]
        else:
            found = [head for head, apart in zip(self._heads, distances, strict=True) if apart == least]
        return (least, max([head.conversations[-1] for head in found])) if found else None


class Heads:
    """Heads seen so far; memory is bounded, the heads that were not met for longest are forgotten."""

    def __init__(self) -> None:
        self._known: Recent[tuple[int, ...], _Head] = Recent(_SHAPES)
        self._shapes: Recent[tuple[object, ...], _Alike] = Recent(_SHAPES)
        self._asked: Prompt | None = None
        """What `near` was asked for last, with its answer. It is the same prompt's still when that goes on, since that
        leaves its head as it is."""
        self._nearest: int | None = None

    def add(self, prompt: Prompt, conversation: int) -> None:
        """A conversation began with this prompt."""
        self._asked = None
        key = _key(prompt)
        head = self._known.get(key)
        if head is None:
            head = _Head(key, _characters(prompt), [])
            for shape in _shapes(prompt):
                alike = self._shapes.get(shape)
                if alike is None:
                    self._shapes.put(shape, alike := _Alike())
                alike.add(head)
            self._known.put(key, head)
        head.conversations.append(conversation)
        del head.conversations[:-_CONVERSATIONS_OF_A_HEAD]

    def same(self, prompt: Prompt) -> Sequence[int]:
        """Conversations that began with exactly this head, the newest first; some are forgotten."""
        head = self._known.get(_key(prompt))
        return head.conversations[::-1] if head is not None else ()

    def near(self, prompt: Prompt) -> int | None:
        """The newest conversation whose head is not this one and most like it in shape; None where this very head
        was seen before or none is like it."""
        if prompt is not self._asked:
            self._asked, self._nearest = prompt, self._near(prompt)
        return self._nearest

    def _near(self, prompt: Prompt) -> int | None:
        characters = _characters(prompt)
        shortest = _SHORTEST if prompt.head else _SHORTEST_MESSAGE
        if characters < shortest or self._known.get(_key(prompt)) is not None:
            return None
        best: tuple[int, int] | None = None
        for number, shape in enumerate(_shapes(prompt)):
            alike = self._shapes.get(shape)
            found = None if alike is None else alike.nearest(characters, limited=number == 0)
            if found is not None and (best is None or (found[0], -found[1]) < (best[0], -best[1])):
                best = found
        return None if best is None else best[1]


def heads_alike(one: Prompt, other: Prompt) -> bool:
    """Whether two heads have the same shape."""
    kinds, others = ([part.kind for part in prompt.parts[: prompt.head]] for prompt in (one, other))
    return kinds == others and _about_as_long(_characters(one), _characters(other))


def _about_as_long(one: int, other: int) -> bool:
    return abs(one - other) <= max(_TOLERANCE * max(one, other), _SLACK)


def _key(prompt: Prompt) -> tuple[int, ...]:
    return tuple(prompt.digests[: prompt.head or 1])


def _characters(prompt: Prompt) -> int:
    return sum(prompt.sizes[: prompt.head or 1])


def _shapes(prompt: Prompt) -> list[tuple[object, ...]]:
    """The kinds of a head's parts; then its tools and its instructions, as far as they say something by themselves."""
    parts = prompt.parts[: prompt.head or 1]
    shapes: list[tuple[object, ...]] = [tuple(part.kind for part in parts)]
    tools = [part for part in parts if part.kind == "tools"]
    system = [part for part in parts if part.kind == "system"]
    if tools and system:
        for name, group in (("same tools", tools), ("same instructions", system)):
            if sum(part.characters for part in group) >= _SHORTEST:
                shapes.append((name, *(part.digest for part in group)))
    return shapes
