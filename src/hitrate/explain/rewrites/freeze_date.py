"""The date of a conversation's start, kept until its end."""

from __future__ import annotations

from typing import ClassVar

from hitrate.explain.rewrites.cutting import learn_head, text_edits
from hitrate.explain.rewrites.edits import edited, root_of
from hitrate.explain.rewrites.interface import Sent
from hitrate.explain.rewrites.values import Changing, framed, head_values


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
        new: dict[str, str] = {}
        for one in head_values(sent) if self._changing.found_any else ():
            text = one.text
            frame = framed(text).frame
            for index, slot in reversed(self._changing.slots(one.pointer, text)):
                key = (sent.conversation, one.pointer, frame, index)
                first = self._first.setdefault(key, one.text[slot.start : slot.end])
                text = text[: slot.start] + first + text[slot.end :]
            if text != one.text:
                new[one.pointer] = text
        if not new:
            return sent.body
        root = root_of(sent.body)
        return edited(sent.body, root.text, text_edits(root, new))
