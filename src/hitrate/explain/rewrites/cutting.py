"""Takes values that change out of the text in front of the history."""

from __future__ import annotations

from typing import NamedTuple

from hitrate.core.spans import Node
from hitrate.explain.rewrites.edits import Edit, replaced, root_of
from hitrate.explain.rewrites.interface import Sent
from hitrate.explain.rewrites.values import Changing, head_strings, without


class Cut(NamedTuple):
    root: Node
    edits: list[Edit]
    texts: tuple[str, ...]
    """What was cut out, in order."""


def learn_head(changing: Changing, sent: Sent) -> None:
    for node in head_strings(root_of(sent.body), sent):
        changing.learn(node.pointer, node.value)


def cut_head(changing: Changing, sent: Sent, stand_in: str = "") -> Cut:
    root = root_of(sent.body)
    edits: list[Edit] = []
    texts: list[str] = []
    for node in head_strings(root, sent):
        text: str = node.value
        position = len(text)
        for _, slot in reversed(changing.slots(node.pointer, text)):
            if slot.end > position:
                continue  # on a line that went with a later value of it
            start, end, new, moved = without(text, slot, stand_in)
            text = text[:start] + new + text[min(end, max(position, end)) :]
            position = start
            texts.insert(0, moved)
        if text != node.value:
            edits.append(replaced(node, text))
    return Cut(root, edits, tuple(texts))
