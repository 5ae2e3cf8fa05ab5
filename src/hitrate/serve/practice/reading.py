"""What the wires have in common when a body is read: each fault of it becomes a `Refused`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from hitrate.core.prompt import CanonicalPrompt
from hitrate.serve.practice.wire import Refused, Tool

TOO_DEEP = "the body's arrays and objects are nested too deeply"


def decode_object(body: bytes) -> dict[str, Any]:
    try:
        sent = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, f"the body is not valid JSON: {error}") from None
    except RecursionError:
        raise Refused(400, TOO_DEEP) from None
    if not isinstance(sent, dict):
        raise Refused(400, "the body is not a JSON object")
    return sent


def array_of_objects(sent: Mapping[str, Any], name: str, what: str = "message") -> list[dict[str, Any]]:
    found = sent.get(name)
    if not isinstance(found, list) or not found or not all(isinstance(part, dict) for part in found):
        raise Refused(400, f"'{name}' has to be an array of at least one {what} object", param=name)
    return found


def prompt_of(canonical: Callable[[bytes], CanonicalPrompt], body: bytes) -> CanonicalPrompt:
    try:
        return canonical(body)
    except ValueError as error:
        raise Refused(400, str(error)) from None


def text(sent: Mapping[str, Any], name: str) -> str:
    value = sent.get(name)
    if not isinstance(value, str) or not value:
        raise Refused(400, f"{name!r} has to be a text", param=name)
    return value


def positive_integer(sent: Mapping[str, Any], *names: str) -> int | None:
    """The first of the named members that is there and not null."""
    for name in names:
        value = sent.get(name)
        if value is not None:
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise Refused(400, f"{name!r} is {value!r}; it has to be a whole number of at least 1", param=name)
            return value
    return None


def texts(sent: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """An array of texts; null and no such member are none."""
    value = sent.get(name) or []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Refused(400, f"'{name}' has to be an array of texts", param=name)
    return tuple(filter(None, value))


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in an array; nothing for anything else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def json_object(value: Any) -> dict[str, Any]:
    """An object, or the one that a text spells; {} for anything else, such as arguments that were cut off."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def tools_of(functions: Iterable[Any], schema: str) -> tuple[Tool, ...]:
    """The functions with a name, each with the JSON Schema under `schema`."""
    return tuple(
        Tool(function["name"], function[schema] if isinstance(function.get(schema), dict) else {})
        for function in functions
        if isinstance(function, dict) and isinstance(function.get("name"), str)
    )


def first_tool(tools: tuple[Tool, ...], param: str = "tool_choice") -> Tool:
    if not tools:
        raise Refused(400, f"'{param}' wants a tool but there are no tools", param=param)
    return tools[0]


def named_tool(tools: tuple[Tool, ...], name: Any, param: str = "tool_choice") -> Tool:
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        raise Refused(400, f"'{param}' names {name!r}, which is not among the tools", param=param)
    return tool
