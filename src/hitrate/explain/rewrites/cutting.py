"""Takes values that change out of the text in front of the history."""

from __future__ import annotations

from typing import NamedTuple

from hitrate.core.spans import Node
from hitrate.explain.rewrites.edits import Edit, node_at, replaced
from hitrate.explain.rewrites.interface import Sent
from hitrate.explain.rewrites.values import Changing, head_values, without


class Cut(NamedTuple):
    new: dict[str, str]
    """By JSON pointer, the texts that something was cut out of."""
    texts: tuple[str, ...]
    """What was cut out, in order."""


def learn_head(changing: Changing, sent: Sent) -> None:
    for one in head_values(sent):
        changing.learn(one.pointer, one.text)


def cut_head(changing: Changing, sent: Sent, stand_in: str = "") -> Cut:
    new: dict[str, str] = {}
    texts: list[str] = []
    for one in head_values(sent) if changing.found_any else ():
        text, position = one.text, len(one.text)
        cut: list[str] = []
        for _, slot in reversed(changing.slots(one.pointer, text)):
            if slot.end > position:
                continue  # on a line that went with a later value of it
            start, end, placed, moved = without(text, slot, stand_in)
            text = text[:start] + placed + text[end:]
            position = start
            cut.insert(0, moved)
        if cut:
            new[one.pointer] = text
            texts += cut
    return Cut(new, tuple(texts))


def text_edits(root: Node, new: dict[str, str]) -> list[Edit]:
    nodes = ((node_at(root, pointer), text) for pointer, text in new.items())
    return [replaced(node, text) for node, text in nodes if node is not None]
