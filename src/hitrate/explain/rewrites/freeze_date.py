"""The date of a conversation's start, kept until its end."""

from __future__ import annotations

from typing import ClassVar

from hitrate.explain.rewrites.cutting import learn_head
from hitrate.explain.rewrites.edits import Edit, edited, replaced, root_of
from hitrate.explain.rewrites.interface import Sent
from hitrate.explain.rewrites.values import Changing, framed, head_strings


class FreezeDate:
    name: ClassVar[str] = "freeze-date"
    about: ClassVar[str] = "A date in front of the history stays that of the conversation's first call."
    without_effect: ClassVar[str] = "no date in front of the history changes"

    def __init__(self) -> None:
        self._changing = Changing("date")
        self._first: dict[tuple[int, str, str, int], str] = {}

    def learn(self, sent: Sent) -> None:
        learn_head(self._changing, sent)

    def body(self, sent: Sent) -> bytes:
        root = root_of(sent.body)
        edits: list[Edit] = []
        for node in head_strings(root, sent):
            text: str = node.value
            frame = framed(text).frame
            for index, slot in reversed(self._changing.slots(node.pointer, text)):
                key = (sent.conversation, node.pointer, frame, index)
                first = self._first.setdefault(key, node.value[slot.start : slot.end])
                text = text[: slot.start] + first + text[slot.end :]
            if text != node.value:
                edits.append(replaced(node, text))
        return edited(sent.body, root.text, edits)
