"""Tools in an order that is not that of their names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

from hitrate.explain.lint.interface import Flaw, Request


class ToolOrder:
    name: ClassVar[str] = "tool-order"
    about: ClassVar[str] = "The tools are not sorted by name: fine as long as their order is the same in every call."

    def look(self, request: Request) -> Iterator[Flaw]:
        named: list[tuple[str, str]] = []
        for segment in request.prompt.segments:
            if segment.kind == "tools":
                named.extend((name, segment.pointer) for name in _names(segment.text))
        names = [name for name, _ in named]
        place = next((index for index in range(1, len(names)) if names[index] < names[index - 1]), None)
        if place is None:
            return
        listed = ", ".join(names)
        yield Flaw(
            "note",
            f"The {len(names)} tools are not sorted by name ({names[place]} stands behind {names[place - 1]}): that is "
            "fine if their order never changes.",
            "Sort the tools by name before each request, or fix their order when the session starts.",
            named[place][1],
            listed.index(names[place], len(", ".join(names[:place]))),
            listed,
            from_shape=True,
        )


def _names(text: str) -> list[str]:
    """Of a tool definition, or of the declarations in one."""
    try:
        tool: Any = json.loads(text)
    except ValueError:
        return []
    if not isinstance(tool, dict):
        return []
    declared = tool.get("functionDeclarations") or tool.get("function_declarations")
    holders = declared if isinstance(declared, list) else [tool.get("function", tool)]
    names = [one.get("name") for one in holders if isinstance(one, dict)]
    return [name for name in names if isinstance(name, str)]
