"""Messages and tools as a run gives them, in the shape of chat completions, taken apart for other wires."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hitrate.core.lazy_pattern import lazy_pattern

_DATA_URL = lazy_pattern(r"data:([^;,]*);base64,(.*)", re.DOTALL)

SYSTEM_ROLES = ("system", "developer")


def leading_system(
    messages: Sequence[Mapping[str, Any]],
) -> tuple[list[Mapping[str, Any]], Sequence[Mapping[str, Any]]]:
    """The system messages that open the conversation, and the rest. Later ones stay in the rest, at their place."""
    count = 0
    while count < len(messages) and messages[count].get("role") in SYSTEM_ROLES:
        count += 1
    return list(messages[:count]), messages[count:]


def parts_of(content: Any) -> list[Mapping[str, Any]]:
    """A content as parts; empty text and null, which other wires refuse, as none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [part for part in content or () if isinstance(part, Mapping) and part != {"type": "text", "text": ""}]


def text_of_content(content: Any) -> str:
    """The text of a content, its parts joined."""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in parts_of(content) if isinstance(part.get("text"), str))


def image_of(part: Mapping[str, Any]) -> tuple[str, str | None, str] | None:
    """An `image_url` part as (media type, base64, "") for inline data or ("", None, address); None for other parts."""
    if part.get("type") != "image_url":
        return None
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, Mapping) else image
    found = _DATA_URL.fullmatch(str(url))
    return (found[1] or "image/png", found[2], "") if found else ("", None, str(url))


def function_of(tool: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The function of a chat-completions tool, None for a tool that is the other wire's own already."""
    function = tool.get("function")
    return function if isinstance(function, Mapping) else None


def described(function: Mapping[str, Any]) -> dict[str, Any]:
    """Name and description of a function, as far as it has them: what tool definitions of other wires begin with."""
    known = {"name": function.get("name"), "description": function.get("description")}
    return {name: value for name, value in known.items() if value is not None}


def schema_of(function: Mapping[str, Any]) -> Any:
    """The schema of a function's arguments; one without parameters takes an empty object."""
    return function.get("parameters") or {"type": "object", "properties": {}}


def calls_of(message: Mapping[str, Any]) -> list[tuple[str, str, Any]]:
    """(id, name, arguments) of each tool call of an assistant message."""
    calls = []
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        calls.append((str(call.get("id", "")), str(function.get("name", "")), function.get("arguments", "")))
    return calls


def with_extra(body: dict[str, Any], extra: Mapping[str, Any] | None, merged: tuple[str, ...] = ()) -> dict[str, Any]:
    """`body` with the members of `extra` last. A member that is None is left out, also one that was there.

    Members named in `merged` are groups of settings: theirs are added to those already in the group.
    """
    for name, value in (extra or {}).items():
        known = body.pop(name, None)
        if name in merged and isinstance(known, dict) and isinstance(value, Mapping):
            value = {**known, **value}
        if value is not None:
            body[name] = value
    return body
