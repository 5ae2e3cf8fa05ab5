"""A session key in every request that has none, one value a conversation."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.spans import compact
from hitrate.explain.rewrites.edits import Edit, edited, root_of
from hitrate.explain.rewrites.interface import Sent

_WIRES = ("openai-chat", "openai-responses")


class Affinity:
    """`member` is the vendor's own. Where the key is a header, bodies stay as they are."""

    name: ClassVar[str] = "affinity"
    about: ClassVar[str] = "Every request names its conversation, so that it goes to the replica that has its state."
    without_effect: ClassVar[str] = "every request names its conversation already"

    def __init__(self, member: str = "prompt_cache_key") -> None:
        self._member = member

    def learn(self, sent: Sent) -> None: ...

    def body(self, sent: Sent) -> bytes:
        if sent.prompt.affinity is not None or sent.dialect not in _WIRES:
            return sent.body
        root = root_of(sent.body)
        place = root.end - 1
        comma = "," if root.value else ""
        value = compact(f"conversation-{sent.conversation + 1}")
        return edited(sent.body, root.text, [Edit(place, place, f'{comma}"{self._member}":{value}')])
