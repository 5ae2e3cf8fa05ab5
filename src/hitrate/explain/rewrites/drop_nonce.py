"""Ids and hashes that change, left out of the text in front of the history."""

from __future__ import annotations

from typing import ClassVar

from hitrate.explain.rewrites.cutting import cut_head, learn_head, text_edits
from hitrate.explain.rewrites.edits import edited, root_of
from hitrate.explain.rewrites.interface import Sent
from hitrate.explain.rewrites.values import Changing


class DropNonce:
    name: ClassVar[str] = "drop-nonce"
    about: ClassVar[str] = "Ids, hashes and random values that change leave the tools and the system prompt."
    without_effect: ClassVar[str] = "no id in front of the history changes from call to call"

    def __init__(self) -> None:
        self._changing = Changing("id")

    def learn(self, sent: Sent) -> None:
        learn_head(self._changing, sent)

    def body(self, sent: Sent) -> bytes:
        cut = cut_head(self._changing, sent)
        if not cut.new:
            return sent.body
        root = root_of(sent.body)
        return edited(sent.body, root.text, text_edits(root, cut.new))
