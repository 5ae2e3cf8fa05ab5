"""Ids in the history as they were when they were first sent."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.spans import Node
from hitrate.explain.causes.pointers import names_an_id
from hitrate.explain.rewrites.edits import Edit, edited, replaced, root_of, walked
from hitrate.explain.rewrites.interface import Sent

_LISTS = ("messages", "input", "contents")


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
            ids = _ids(message)
            if not ids:
                continue
            values = tuple(node.value for node in ids)
            first = self._first.setdefault((sent.conversation, index, _frame(message, ids)), values)
            edits.extend(replaced(node, was) for node, was in zip(ids, first, strict=True) if node.value != was)
        return edited(sent.body, root.text, edits)


def _ids(message: Node) -> list[Node]:
    return [node for node in walked(message) if isinstance(node.value, str) and names_an_id(node.pointer)]


def _frame(message: Node, ids: list[Node]) -> str:
    """The message as sent, without its ids."""
    pieces, position = [], message.start
    for node in ids:
        pieces.append(message.text[position : node.start])
        position = node.end
    return "\0".join((*pieces, message.text[position : message.end]))
