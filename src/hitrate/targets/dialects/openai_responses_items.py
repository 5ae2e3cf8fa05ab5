"""Puts the output items of a Responses stream together, so that they can be sent back as the server sent them.

A finished item comes whole in `response.output_item.done`, and all of them again in `response.completed`. Deltas are
added up for the case that a stream ends before that.
"""

from __future__ import annotations

from typing import Any

from hitrate.targets.dialects.openai_deltas import join_surrogates
from hitrate.targets.dialects.wire_json import object_of, objects_of, text_of

_ITEM_OF = {
    "response.output_text.delta": "message",
    "response.refusal.delta": "message",
    "response.function_call_arguments.delta": "function_call",
    "response.custom_tool_call_input.delta": "custom_tool_call",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_summary.delta": "reasoning",
}
"""Kind of delta to the type of the item that it belongs to."""

_PART_OF = {
    "response.output_text.delta": ("content", "output_text", "text"),
    "response.refusal.delta": ("content", "refusal", "refusal"),
    "response.reasoning_text.delta": ("content", "reasoning_text", "text"),
    "response.reasoning_summary_text.delta": ("summary", "summary_text", "text"),
    "response.reasoning_summary.delta": ("summary", "summary_text", "text"),
}
"""Kind of delta to the list in the item, the type of the part there, and the member of the part."""

_MEMBER_OF = {
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
}


class OutputItems:
    """Items by their `output_index`; `output()` is what there is so far."""

    def __init__(self) -> None:
        self._items: dict[int, dict[str, Any]] = {}
        self._whole: set[int] = set()
        self._pieces: dict[tuple[int, str, int], list[str]] = {}
        self._last = 0

    def __bool__(self) -> bool:
        return bool(self._items)

    def open(self, event: dict[str, Any]) -> None:
        self._items[self._index(event)] = dict(object_of(event.get("item")))

    def close(self, event: dict[str, Any]) -> None:
        item = object_of(event.get("item"))
        if item:
            index = self._index(event)
            self._items[index] = item
            self._whole.add(index)

    def add(self, event: dict[str, Any]) -> bool:
        """Whether the delta brought generated tokens."""
        kind = text_of(event.get("type"))
        piece = text_of(event.get("delta"))
        if not piece:
            return False
        if kind in _ITEM_OF:
            index = self._index(event)
            self._items.setdefault(index, {"type": _ITEM_OF[kind]})
            place = event.get("summary_index") if "summary" in kind else event.get("content_index")
            key = (index, kind, place if type(place) is int else 0)
            self._pieces.setdefault(key, []).append(piece)
        return True

    def replace(self, output: list[dict[str, Any]]) -> None:
        """The items of a finished response, unless it repeats none."""
        if output:
            self._items = dict(enumerate(output))
            self._whole = set(self._items)

    def output(self) -> list[dict[str, Any]]:
        return [self._items[index] if index in self._whole else self._partial(index) for index in sorted(self._items)]

    def _partial(self, index: int) -> dict[str, Any]:
        item = dict(self._items[index])
        if item.get("type") == "message":
            item.setdefault("role", "assistant")
        for (_, kind, _), pieces in sorted((key, pieces) for key, pieces in self._pieces.items() if key[0] == index):
            text = join_surrogates("".join(pieces))
            if kind in _MEMBER_OF:
                item[_MEMBER_OF[kind]] = text
            else:
                name, part_type, member = _PART_OF[kind]
                known = item.get(name)
                item[name] = [*(known if isinstance(known, list) else ()), {"type": part_type, member: text}]
        return item

    def _index(self, event: dict[str, Any]) -> int:
        index = event.get("output_index")
        if type(index) is int:
            self._last = index
        return self._last


def visible_text(item: dict[str, Any]) -> str:
    """The text that a user sees of an item."""
    if item.get("type", "message") != "message":
        return ""
    return "".join(text_of(part.get("text")) for part in objects_of(item.get("content")))


def reasoning_text(item: dict[str, Any]) -> str:
    """The reasoning of an item: its text where the engine gives it, else the summary."""
    if item.get("type") != "reasoning":
        return ""
    for name in ("content", "summary"):
        text = "".join(text_of(part.get("text")) for part in objects_of(item.get(name)))
        if text:
            return text
    return ""
