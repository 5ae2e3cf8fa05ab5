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
    key: tuple[bytes, ...]
    characters: int
    conversations: list[int]
    """The newest last, `_CONVERSATIONS_OF_A_HEAD` at most."""


class Heads:
    """Heads seen so far; memory is bounded, the heads that were not met for longest are forgotten."""

    def __init__(self) -> None:
        self._known: Recent[tuple[bytes, ...], _Head] = Recent(_SHAPES)
        self._shapes: Recent[tuple[object, ...], list[_Head]] = Recent(_SHAPES)

    def add(self, prompt: Prompt, conversation: int) -> None:
        """A conversation began with this prompt."""
        key = _key(prompt)
        head = self._known.get(key)
        if head is None:
            head = _Head(key, _characters(prompt), [])
            for shape in _shapes(prompt):
                heads = self._shapes.get(shape)
                if heads is None:
                    self._shapes.put(shape, heads := [])
                heads.append(head)
                del heads[:-_HEADS_OF_A_SHAPE]
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
        characters = _characters(prompt)
        shortest = _SHORTEST if prompt.head else _SHORTEST_MESSAGE
        if characters < shortest or self._known.get(_key(prompt)) is not None:
            return None
        best: tuple[int, int] | None = None
        for number, shape in enumerate(_shapes(prompt)):
            for head in self._shapes.get(shape) or ():
                apart = abs(head.characters - characters)
                if best is not None and apart > best[0]:
                    continue
                if number == 0 and not _about_as_long(head.characters, characters):
                    continue
                if best is None or apart < best[0] or head.conversations[-1] > best[1]:
                    best = (apart, head.conversations[-1])
        return None if best is None else best[1]


def heads_alike(one: Prompt, other: Prompt) -> bool:
    """Whether two heads have the same shape."""
    kinds, others = ([part.kind for part in prompt.parts[: prompt.head]] for prompt in (one, other))
    return kinds == others and _about_as_long(_characters(one), _characters(other))


def _about_as_long(one: int, other: int) -> bool:
    return abs(one - other) <= max(_TOLERANCE * max(one, other), _SLACK)


def _key(prompt: Prompt) -> tuple[bytes, ...]:
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
