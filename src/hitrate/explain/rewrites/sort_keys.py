"""Members of tool definitions and response schemas in one order."""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import takewhile
from typing import Any, ClassVar

from hitrate.core.spans import compact
from hitrate.explain.rewrites.edits import edited, node_at, replaced, root_of
from hitrate.explain.rewrites.interface import Sent


class SortKeys:
    name: ClassVar[str] = "sort-keys"
    about: ClassVar[str] = (
        "Members of tool definitions and schemas are sorted by name, and so are lists of required ones."
    )
    without_effect: ClassVar[str] = "the members of tools and schemas are sorted, or there are none"

    def learn(self, sent: Sent) -> None: ...

    def body(self, sent: Sent) -> bytes:
        leading = takewhile(lambda segment: segment.kind in ("tools", "schema"), sent.prompt.segments)
        unsorted = [segment.pointer for segment in leading if not _is_sorted(segment.text)]
        if not unsorted:
            return sent.body
        root = root_of(sent.body)
        nodes = [node for pointer in unsorted if (node := node_at(root, pointer)) is not None]
        return edited(sent.body, root.text, [replaced(node, _ordered(node.value)) for node in nodes])


@lru_cache(maxsize=1024)
def _is_sorted(text: str) -> bool:
    """Of a definition in JSON; what is none has nothing to sort."""
    try:
        value = json.loads(text)
    except ValueError:
        return True
    return compact(_ordered(value)) == compact(value)


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
