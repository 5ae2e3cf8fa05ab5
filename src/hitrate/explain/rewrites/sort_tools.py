"""The tools in the order of their names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from hitrate.core.spans import Node, compact
from hitrate.explain.rewrites.edits import Edit, edited, node_at, root_of
from hitrate.explain.rewrites.interface import Sent
from hitrate.explain.rewrites.messages import MARKERS

_LISTS = ("/tools", "/functions", "/toolConfig/tools")
_INNER = ("functionDeclarations", "function_declarations")


class SortTools:
    """Cache markers keep their places in the list: what is marked is its end, not a tool."""

    name: ClassVar[str] = "sort-tools"
    about: ClassVar[str] = "Tool definitions are sorted by name; cache markers among them keep their places."
    without_effect: ClassVar[str] = "the tools are sorted by name, or there are none"

    def learn(self, sent: Sent) -> None: ...

    def body(self, sent: Sent) -> bytes:
        root = root_of(sent.body)
        edits: list[Edit] = []
        for listed in _tool_lists(root):
            edits.extend(_sorted(listed.items()))
        return edited(sent.body, root.text, edits)


def _tool_lists(root: Node) -> Iterator[Node]:
    for pointer in _LISTS:
        listed = node_at(root, pointer)
        if listed is None:
            continue
        inner = [one for tool in listed.items() for name in _INNER if (one := tool.get(name)) is not None]
        yield from inner or [listed]


def _sorted(tools: list[Node]) -> Iterator[Edit]:
    places = [node for node in tools if _name(node.value) is not None]
    ordered = sorted(places, key=lambda node: _name(node.value) or "")
    if ordered == places:
        return
    is_marked = any(name in node.value for node in places for name in MARKERS)
    for place, tool in zip(places, ordered, strict=True):
        if not is_marked:
            text = tool.text[tool.start : tool.end]
        else:
            unmarked = {name: value for name, value in tool.value.items() if name not in MARKERS}
            text = compact({**unmarked, **{name: place.value[name] for name in MARKERS if name in place.value}})
        yield Edit(place.start, place.end, text)


def _name(tool: Any) -> str | None:
    """None for what is no tool, as a cache point in the list of tools is."""
    if not isinstance(tool, dict) or "cachePoint" in tool:
        return None
    holder = next((tool[name] for name in ("function", "toolSpec") if isinstance(tool.get(name), dict)), tool)
    name = holder.get("name", tool.get("type"))
    return name if isinstance(name, str) else None
