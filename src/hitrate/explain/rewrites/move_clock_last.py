"""The present time behind the stable text: in the message that was the newest when it was sent."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from hitrate.explain.rewrites.cutting import cut_head, learn_head, text_edits
from hitrate.explain.rewrites.edits import edited, replaced, root_of
from hitrate.explain.rewrites.interface import Sent
from hitrate.explain.rewrites.messages import identity, messages, with_text
from hitrate.explain.rewrites.values import Changing


class MoveClockLast:
    """Each message keeps the time it was first sent with, so that the history stays what it was."""

    name: ClassVar[str] = "move-clock-last"
    about: ClassVar[str] = "Times that change move from tools and system prompt behind the newest user message."
    without_effect: ClassVar[str] = "no time in front of the history changes from call to call"

    def __init__(self) -> None:
        self._changing = Changing("clock")
        self._kept: dict[tuple[int, str, int], str] = {}
        """Conversation, message and how often it came before → the text that was sent behind it."""

    def learn(self, sent: Sent) -> None:
        learn_head(self._changing, sent)

    def body(self, sent: Sent) -> bytes:
        if not self._changing.found_any:
            return sent.body
        cut = cut_head(self._changing, sent, "(see the newest message)")
        root = root_of(sent.body)
        users = [message for message in messages(root, sent.dialect) if message.is_user]
        if not users:
            return sent.body
        edits = text_edits(root, cut.new)
        seen: Counter[str] = Counter()
        for message in users:
            name = identity(message.content.value)
            key = (sent.conversation, name, seen[name])
            seen[name] += 1
            if message is users[-1] and cut.texts:
                self._kept.setdefault(key, "\n".join(cut.texts))
            if (text := self._kept.get(key)) is not None:
                edits.append(replaced(message.content, with_text(message.content.value, text, sent.dialect)))
        return edited(sent.body, root.text, edits)
