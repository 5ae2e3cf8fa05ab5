"""Values in front of the history that do change from call to call, while the text around them stays.

A text is cut into its values (times, dates, ids) and the frame around them. Where two requests have the same frame at
the same place and a value differs, that value is one that changes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.causes.moments import moments
from hitrate.explain.causes.shapes import labelled_id, random_kind
from hitrate.explain.lint.head import head_texts
from hitrate.explain.lint.interface import HeadText
from hitrate.explain.rewrites.interface import Sent

Kind = Literal["clock", "date", "id"]

_TOKEN = lazy_pattern(r"[^\s\"'`<>()\[\]{},;|=:、，。：；（）「」“”]{4,}")
_HEADER_LINE = lazy_pattern(r"\s*x-[a-z0-9-]+\s*:\s*\S", re.IGNORECASE)
_DIGIT = lazy_pattern(r"\d")
_LABEL = 60
_LONGEST_LABEL = 40
"""Code points beside a value up to which its line is a label with a value and nothing else."""


class Slot(NamedTuple):
    kind: Kind
    start: int
    end: int


class Framed(NamedTuple):
    """`frame` is the text with its values taken out."""

    slots: tuple[Slot, ...]
    frame: str


@lru_cache(maxsize=512)
def framed(text: str) -> Framed:
    slots: list[Slot] = []
    position = 0
    for line in text.splitlines(keepends=True):
        if _DIGIT.search(line):
            slots.extend(Slot(kind, start + position, end + position) for kind, start, end in _in_line(line))
        position += len(line)
    pieces, position = [], 0
    for slot in slots:
        pieces += [text[position : slot.start], f"\0{slot.kind}\0"]
        position = slot.end
    return Framed(tuple(slots), "".join((*pieces, text[position:])))


@lru_cache(maxsize=4096)
def _in_line(line: str) -> tuple[Slot, ...]:
    """Most lines of a prompt are the same in every request."""
    found: list[Slot] = [*_ids(line)]
    for moment in moments(line):
        slot = Slot("clock" if moment.has_time else "date", moment.start, moment.end)
        overlapping = [one for one in found if one.start < slot.end and slot.start < one.end]
        # A date inside an id is none.
        if all(one.start >= slot.start and one.end <= slot.end for one in overlapping):
            found = [*(one for one in found if one not in overlapping), slot]
    return tuple(sorted(found, key=lambda one: one.start))


def _ids(line: str) -> Iterator[Slot]:
    header = _HEADER_LINE.match(line) is not None
    for match in _TOKEN.finditer(line):
        token, label = match.group(), line[max(0, match.start() - _LABEL) : match.start()]
        in_header = header and _DIGIT.search(token) is not None
        if random_kind(token) not in (None, "long number") or labelled_id(label, token) or in_header:
            yield Slot("id", *match.span())


def head_values(sent: Sent) -> list[HeadText]:
    """The strings of tools, schemas and instructions in front of the history that could hold a value."""
    return [one for one in head_texts(sent.prompt, json.loads(sent.body)) if _DIGIT.search(one.text)]


class Changing:
    """Learns which values of one kind change."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._first: dict[tuple[str, str], tuple[str, ...]] = {}
        self._changed: dict[tuple[str, str], set[int]] = {}

    def learn(self, pointer: str, text: str) -> None:
        found = framed(text)
        values = tuple(text[slot.start : slot.end] for slot in found.slots)
        first = self._first.setdefault((pointer, found.frame), values)
        if first != values:
            changed = self._changed.setdefault((pointer, found.frame), set())
            changed.update(
                index
                for index, (slot, was, now) in enumerate(zip(found.slots, first, values, strict=True))
                if slot.kind == self._kind and was != now
            )

    @property
    def found_any(self) -> bool:
        return any(self._changed.values())

    def slots(self, pointer: str, text: str) -> list[tuple[int, Slot]]:
        """Those of a text that change, each with its number."""
        found = framed(text)
        changed = self._changed.get((pointer, found.frame), ())
        return [(index, found.slots[index]) for index in sorted(changed)]


def without(text: str, slot: Slot, stand_in: str) -> tuple[int, int, str, str]:
    """Where to cut a value out, what takes its place, and what was cut: its line, if that is a label and a value."""
    start = text.rfind("\n", 0, slot.start) + 1
    end = text.find("\n", slot.end)
    end = len(text) if end < 0 else end
    beside = text[start : slot.start] + text[slot.end : end]
    if len(beside.strip()) > _LONGEST_LABEL:
        label = text[start : slot.start]
        if len(label) > _LONGEST_LABEL:
            label = label[-_LONGEST_LABEL:].partition(" ")[2]
        label = label.rpartition(". ")[2]
        return slot.start, slot.end, stand_in, (label + text[slot.start : slot.end]).strip()
    after = end
    while text[after : after + 1] == "\n" and (after == end or start == 0):
        after += 1
    return start, after, "", text[start:end].strip()
