"""A decoded value in the shape of `spans.Node`, for readers of prompts that are not asked where things stand."""

from __future__ import annotations

from typing import Any

from hitrate.core.spans import Node, escape_pointer


class DecodedNode(Node):
    """Has pointers, and 0 for every place in the text."""

    __slots__ = ()

    def __init__(self, pointer: str, value: Any) -> None:
        self.text = ""
        self.pointer = pointer
        self.start = self.end = 0
        self.value = value
        self._children = None

    def members(self) -> dict[str, Node]:
        if not isinstance(self.value, dict):
            return {}
        if self._children is None:
            self._children = {
                key: DecodedNode(f"{self.pointer}/{escape_pointer(key)}", value) for key, value in self.value.items()
            }
        return self._children  # type: ignore[return-value]

    def items(self) -> list[Node]:
        if not isinstance(self.value, list):
            return []
        if self._children is None:
            self._children = [DecodedNode(f"{self.pointer}/{index}", value) for index, value in enumerate(self.value)]
        return self._children  # type: ignore[return-value]
