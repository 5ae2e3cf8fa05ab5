"""Members of tool definitions and response schemas in one order."""

from __future__ import annotations

from typing import Any, ClassVar

from hitrate.core.spans import compact
from hitrate.explain.rewrites.edits import Edit, edited, node_at, replaced, root_of
from hitrate.explain.rewrites.interface import Sent


class SortKeys:
    name: ClassVar[str] = "sort-keys"
    about: ClassVar[str] = (
        "Members of tool definitions and schemas are sorted by name, and so are lists of required ones."
    )
    without_effect: ClassVar[str] = "the members of tools and schemas are sorted, or there are none"

    def learn(self, sent: Sent) -> None: ...

    def body(self, sent: Sent) -> bytes:
        root = root_of(sent.body)
        edits: list[Edit] = []
        for segment in sent.prompt.segments:
            if segment.kind not in ("tools", "schema"):
                break
            node = node_at(root, segment.pointer)
            if node is None or not isinstance(node.value, dict | list):
                continue
            value = _ordered(node.value)
            if compact(value) != compact(node.value):
                edits.append(replaced(node, value))
        return edited(sent.body, root.text, edits)


def _ordered(value: Any) -> Any:
    if isinstance(value, list):
        return [_ordered(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {name: _ordered(value[name]) for name in sorted(value)}
    required = found.get("required")
    if isinstance(required, list) and all(isinstance(one, str) for one in required):
        found["required"] = sorted(required)
    return found
