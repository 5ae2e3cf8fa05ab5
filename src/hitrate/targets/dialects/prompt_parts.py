"""A canonical prompt as parts: one a tool definition, schema, system block or message."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TypeAlias

from hitrate.core.prompt import CanonicalPrompt, Part, Segment

_LISTS = ("messages", "input", "contents", "system")
"""Top-level members of which each element is a part."""

_BLOCK_LISTS = ("content", "tool_calls", "parts", "output", "summary")
"""Members of a message of which each element is a content block; what stands beside them is one block."""

_LENGTH_BITS = 32

_Texts: TypeAlias = "tuple[str | _Texts, ...]"
"""A kind with its text, or several of these."""


def parts_of(prompt: CanonicalPrompt) -> tuple[Part, ...]:
    """The parts in the order of the segments; each segment is in one part, each marker on one block."""
    marks: dict[int, list[str | None]] = {}
    for marker in prompt.markers:
        marks.setdefault(marker.after, []).append(marker.ttl)
    parts: list[Part] = []
    number = 0
    for segments in segments_of_parts(prompt):
        part = _OpenPart(segments[0].kind)
        for segment in segments:
            part.add(segment, _block(segment.pointer.split("/", 5)), marks.get(number, ()))
            number += 1
        parts.append(part.close())
    return tuple(parts)


def segments_of_parts(prompt: CanonicalPrompt) -> list[list[Segment]]:
    """The segments of each part, in the order of the parts."""
    found: list[list[Segment]] = []
    open_place: object = None
    for number, segment in enumerate(prompt.segments):
        # Tools and schemas are parts each.
        place = number if segment.kind in ("tools", "schema") else _place(segment.pointer.split("/", 5))
        if not found or place != open_place:
            found.append([])
            open_place = place
        found[-1].append(segment)
    return found


class _OpenPart:
    """A part to which segments are added."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._texts: list[tuple[str, str]] = []
        self._block: object = self
        self._blocks: list[int] = []
        self._marks: list[tuple[int, str | None]] = []

    def add(self, segment: Segment, block: object, ttls: Sequence[str | None]) -> None:
        characters = len(segment.text)
        self._texts.append((segment.kind, segment.text))
        if block != self._block:
            self._block = block
            self._blocks.append(characters)
        else:
            self._blocks[-1] += characters
        if ttls:
            self._marks.extend((len(self._blocks) - 1, ttl) for ttl in ttls)

    def close(self) -> Part:
        characters = sum(self._blocks)
        # Of one text as of a `text_part`.
        digest = _digest(self._texts[0] if len(self._texts) == 1 else tuple(self._texts), characters)
        return Part(digest, self._kind, characters, tuple(self._blocks), tuple(self._marks))


def text_part(kind: str, text: str) -> Part:
    """A part that is one text in one block."""
    characters = len(text)
    return Part(_digest((kind, text), characters), kind, characters, (characters,))


def _digest(texts: _Texts, characters: int) -> int:
    """Of texts with their kinds, so a user's text is not taken for the same text as a tool's result.

    Python's own hash, of 64 bits and with a secret of the process, and the length: to be the same for two of a million
    texts of one length has a chance of three in a hundred million, and nobody can bring it about. It takes a fifth of
    the time that the bytes of a text and their BLAKE2 take.
    """
    return _hash(texts) << _LENGTH_BITS | characters


def _hash_twice(texts: _Texts) -> int:
    """64 bits of two hashes of 32: of the texts, and of the texts with something in front."""
    return hash(texts) << 32 | hash(_salted(texts)) & 0xFFFF_FFFF


def _salted(texts: _Texts) -> _Texts:
    return tuple("\0" + one if isinstance(one, str) else _salted(one) for one in texts)


_hash: Callable[[_Texts], int] = hash if sys.hash_info.width >= 64 else _hash_twice


def _place(tokens: list[str]) -> object:
    """What segments of one part have in common, of the tokens of their pointers."""
    if len(tokens) > 2 and tokens[1] in _LISTS:
        return tokens[1], tokens[2]
    return tokens[1:4]


def _block(tokens: list[str]) -> object:
    """What segments of one content block of a message have in common."""
    return tokens[3:5] if len(tokens) > 3 and tokens[3] in _BLOCK_LISTS else None


def with_marks(one: Part, ttls: Sequence[str | None]) -> Part:
    """The part with further markers behind its last block."""
    last = len(one.blocks) - 1
    return Part(one.digest, one.kind, one.characters, one.blocks, (*one.marks, *((last, ttl) for ttl in ttls)))
