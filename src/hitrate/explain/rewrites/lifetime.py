"""Another lifetime on every cache marker."""

from __future__ import annotations

from typing import ClassVar

from hitrate.explain.rewrites.edits import Edit, edited, node_at, replaced, root_of
from hitrate.explain.rewrites.interface import Sent

_DEFAULT = "5m"


class Lifetime:
    """On the wires of Anthropic and Bedrock; the five minutes need not be named."""

    name: ClassVar[str] = "ttl"
    about: ClassVar[str] = "Every cache marker asks for this lifetime."
    without_effect: ClassVar[str] = "the markers ask for it already, or there are none"

    def __init__(self, ttl: str) -> None:
        self._ttl = ttl

    def learn(self, sent: Sent) -> None: ...

    def body(self, sent: Sent) -> bytes:
        root = root_of(sent.body)
        edits: list[Edit] = []
        for marker in sent.prompt.markers:
            node = node_at(root, marker.pointer)
            if node is None or marker.pointer.rpartition("/")[2] not in ("cache_control", "cachePoint"):
                continue
            if (marker.ttl or _DEFAULT) != self._ttl:
                kept = {name: value for name, value in node.value.items() if name != "ttl"}
                edits.append(replaced(node, kept if self._ttl == _DEFAULT else {**kept, "ttl": self._ttl}))
        return edited(sent.body, root.text, edits)
