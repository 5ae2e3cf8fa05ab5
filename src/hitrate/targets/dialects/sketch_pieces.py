"""What is remembered of the pieces of requests: messages, the frame around them, whole bodies."""

from __future__ import annotations

import re
from typing import NamedTuple

from hitrate.core.prompt import Part, Setting, Sketch
from hitrate.targets.dialects.prompt_parts import with_marks
from hitrate.targets.stray_marks import spells_mark

_CACHE_CONTROL = re.compile(rb',\s*"cache_control"\s*:\s*\{[^{}]*\}')


class Element(NamedTuple):
    parts: tuple[Part, ...]
    leading: tuple[str | None, ...] = ()
    """Lifetimes of markers that stand in front of its first part and belong to the part before."""
    spells_mark: bool = False
    """Whether there may be a marker in it, in any wire's spelling."""


class Frame(NamedTuple):
    parts: tuple[Part, ...]
    trailing: tuple[str | None, ...]
    """Lifetimes of markers that belong behind the last message."""
    key: tuple[Setting, ...]
    others: tuple[Setting, ...]
    affinity: str | None
    spells_mark: bool


class Request(NamedTuple):
    """What was made of a body."""

    sketch: Sketch
    head: int
    """Its parts in front of the messages."""
    marked: Element | None
    """All messages as if they were one; None where they are the sketch's other parts, with no marker anywhere."""

    @property
    def messages(self) -> Element:
        return self.marked or Element(self.sketch.parts[self.head :])


def joined(elements: list[Element]) -> Element:
    """One after another, as one; of these there is at least one."""
    parts: list[Part] = []
    for element in elements:
        if element.leading and parts:
            parts[-1] = with_marks(parts[-1], element.leading)
        parts += element.parts
    return Element(tuple(parts), elements[0].leading, any(element.spells_mark for element in elements))


def without_marks(raw: bytes, parts: tuple[Part, ...]) -> tuple[bytes, Element] | None:
    """How a message will look when its markers have moved on, and what will be in it; None where that is not certain.

    Each marker read must be one that was cut, and no other member be called so: that one could be data of a tool.
    """
    (one, *others) = parts
    bare, cuts = _CACHE_CONTROL.subn(b"", raw)
    if others or cuts != len(one.marks) or raw.count(b'"cache_control"') != cuts:
        return None
    return bare, Element((Part(one.digest, one.kind, one.characters, one.blocks),), spells_mark=spells_mark(bare))
