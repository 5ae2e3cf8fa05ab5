"""A prompt as pairing sees it, and what two prompts have in common in whole parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import NamedTuple

from msgspec import Struct

from hitrate.core.prompt import Part, Sketch

HEAD_KINDS = frozenset({"tools", "schema", "system"})
_COMMON = 0.25

REPLY_KINDS = frozenset({"assistant", "tool"})


class Prompt(Struct, gc=False):
    """`head` counts the leading parts that every conversation of an application has: tools, schemas, instructions.

    That of a conversation's newest call is changed in place where the conversation goes on (`go_on_with`): it gets
    longer, its head stays as it is.
    """

    parts: Sequence[Part]
    digests: list[int]
    sizes: list[int]
    head: int
    rendered: bool = False
    """It was rendered before it was sent, so that its parts are cut from one text."""

    @property
    def message_characters(self) -> int:
        return sum(self.sizes[self.head :])

    @property
    def is_in_pieces(self) -> bool:
        """Whether it is a rendered prompt without turns that are known, cut into pieces of a fixed size."""
        return self.rendered and all(part.kind == "user" for part in self.parts)

    def has_replies(self, start: int) -> bool:
        """Whether the model's answers or tools' results stand at or behind part `start`."""
        return any(part.kind in REPLY_KINDS for part in self.parts[start:])


def prompt_of(sketch: Sketch, rendered: bool = False) -> Prompt:
    parts = sketch.parts
    head = 0
    for part in parts:
        if part.kind not in HEAD_KINDS:
            break
        head += 1
    return Prompt(parts, list(map(digest_of, parts)), list(map(_characters_of, parts)), head, rendered)


def go_on_with(prompt: Prompt, further: Sequence[Part], digests: list[int]) -> int:
    """Put further parts, of these digests, behind a prompt that reaches beyond its head; the code points in them."""
    sizes = list(map(_characters_of, further))
    prompt.parts = (*prompt.parts, *further)
    prompt.digests += digests
    prompt.sizes += sizes
    return sum(sizes)


digest_of, _characters_of = attrgetter("digest"), attrgetter("characters")


class Kept(NamedTuple):
    """Text behind the first difference that both prompts have: code points in all and in messages alone.

    `shift` is by how many parts most of those messages moved towards the front, 0 where they moved back.
    """

    characters: int
    in_messages: float
    shift: int


def kept_text(now: Prompt, was: Sequence[int], shared: int, common: Collection[int]) -> Kept:
    """What of `was` behind part `shared` is in `now`. Parts in `common` count less in
    `in_messages`, because every conversation could have them."""
    places: dict[int, list[int]] = {}
    for place in range(len(was) - 1, shared - 1, -1):
        places.setdefault(was[place], []).append(place)
    characters = 0
    in_messages = 0.0
    shifts: Counter[int] = Counter()
    head = now.head
    for place, (digest, size) in enumerate(zip(now.digests[shared:], now.sizes[shared:], strict=True), shared):
        stack = places.get(digest)
        if not stack:
            continue
        earlier = stack.pop()
        characters += size
        if place >= head:
            in_messages += weight(digest, size, common)
            shifts[earlier - place] += size
    # Of equal ones the one met first.
    shift = max(shifts, key=shifts.__getitem__) if shifts else 0
    return Kept(characters, in_messages, max(shift, 0))


def goes_on(now: Prompt, was: Sequence[int], shared: int, common: Collection[int]) -> bool:
    """Whether `now` has the newest message of `was` and, in front of it, an answer from behind part `shared`, though
    other parts there are gone: it carries the same history on. A fork has answers of its own. Parts in `common` say
    nothing."""
    newest = next((place for place in range(len(now.digests) - 1, shared, -1) if now.digests[place] == was[-1]), shared)
    answers = set(was[shared:]).difference(common)
    return any(
        part.kind in REPLY_KINDS and part.digest in answers for part in now.parts[max(shared, now.head) : newest]
    )


def weight(digest: int, size: int, common: Collection[int]) -> float:
    """How much a shared part says of two calls being one conversation, in code points; also an empty one says some."""
    return (size + 1) * (_COMMON if digest in common else 1.0)
