"""Ids in the history as they were when they were first sent."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import ClassVar, NamedTuple

from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.core.spans import compact, parse
from hitrate.explain.causes.pointers import names_an_id
from hitrate.explain.rewrites.edits import Edit, edited, root_of, walked
from hitrate.explain.rewrites.interface import Sent

_LISTS = ("messages", "input", "contents")
_MAY_HOLD_IDS = lazy_pattern(r"""(?:id|uuid)["']?\s*:""", re.IGNORECASE)


class _Ids(NamedTuple):
    """Of one message as sent: where its ids stand in its text, what they are, and the text without them."""

    places: tuple[tuple[int, int], ...]
    values: tuple[str, ...]
    frame: str


class KeepIds:
    name: ClassVar[str] = "keep-ids"
    about: ClassVar[str] = "Ids of calls and items in the history stay those that were sent first."
    without_effect: ClassVar[str] = "no id in the history was made anew"

    def __init__(self) -> None:
        self._first: dict[tuple[int, int, str], tuple[str, ...]] = {}

    def learn(self, sent: Sent) -> None: ...

    def body(self, sent: Sent) -> bytes:
        root = root_of(sent.body)
        listed = next((node for name in _LISTS if (node := root.get(name)) is not None), None)
        edits: list[Edit] = []
        for index, message in enumerate(listed.items() if listed is not None else ()):
            ids = _ids(message.text[message.start : message.end])
            if not ids.places:
                continue
            first = self._first.setdefault((sent.conversation, index, ids.frame), ids.values)
            for (start, end), now, was in zip(ids.places, ids.values, first, strict=True):
                if now != was:
                    edits.append(Edit(message.start + start, message.start + end, compact(was)))
        return edited(sent.body, root.text, edits)


@lru_cache(maxsize=4096)
def _ids(text: str) -> _Ids:
    """Messages are sent again and again as they are."""
    if _MAY_HOLD_IDS.search(text) is None:
        return _Ids((), (), text)
    nodes = [node for node in walked(parse(text)) if isinstance(node.value, str) and names_an_id(node.pointer)]
    pieces, position = [], 0
    for node in nodes:
        pieces.append(text[position : node.start])
        position = node.end
    frame = "\0".join((*pieces, text[position:]))
    return _Ids(tuple((node.start, node.end) for node in nodes), tuple(node.value for node in nodes), frame)
