"""JSON as it comes off a wire: decoded without ever raising, read without trusting any type."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

LONGEST_ERROR = 300
"""Characters of a server's own words that are kept."""

_decode = msgspec.json.Decoder().decode


def parse_object(data: bytes) -> tuple[dict[str, Any] | None, str | None]:
    """The JSON object in `data`, or None and why there is none."""
    try:
        value = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            value = json.loads(data)  # reads what msgspec refuses: halves of surrogate pairs, NaN
        except RecursionError:
            return None, "nested too deeply to be read"
        except ValueError as error:
            return None, f"malformed JSON ({error})"
    if not isinstance(value, dict):
        return None, f"not a JSON object ({type(value).__name__})"
    return value, None


def to_json(value: Any) -> bytes:
    """Compact JSON bytes in the key order given. Lone surrogates, which UTF-8 cannot carry, go out as escapes."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode("ascii")


def compact_text(value: Any) -> str:
    """A value as compact JSON text, keys in the order they came; a string stays the text it is."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def error_text(answer: Mapping[str, Any]) -> str | None:
    """What went wrong, on one line, when a body or event is an error object; None when it is none."""
    error = answer.get("error")
    if not error and (answer.get("object") == "error" or answer.get("type") == "error"):
        error = answer
    if not error:
        return None
    text = error
    if isinstance(error, Mapping):
        text = error.get("message") or error.get("detail") or error.get("msg") or error
        code = error.get("code") or error.get("type")
        if code and code != "error" and isinstance(code, str | int) and str(code) not in str(text):
            text = f"{text} ({code})"
    return " ".join(str(text).split())[:LONGEST_ERROR]


def text_of(value: Any) -> str:
    """A string, "" for anything else."""
    return value if isinstance(value, str) else ""


def text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def object_of(value: Any) -> dict[str, Any]:
    """An object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def objects_of(value: Any) -> list[dict[str, Any]]:
    """The objects in an array; nothing for anything else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def any_holds(objects: Sequence[Mapping[str, Any]], member: str) -> bool:
    """Whether one of the objects, or of the objects in their `content`, has that member."""
    return any(member in one or any_holds(objects_of(one.get("content")), member) for one in objects)


def arguments_object(arguments: Any) -> dict[str, Any]:
    """A tool call's arguments, which the chat wire sends as JSON text, as the object other wires want.

    Text that is no JSON object (a model can write anything) stands as it is under "arguments".
    """
    if isinstance(arguments, dict):
        return arguments
    try:
        value = json.loads(arguments) if arguments else {}
    except (ValueError, TypeError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"arguments": arguments}


def tool_call(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    """A tool call in the shape of `Reply.tool_calls`, the same on every wire: that of chat completions."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": compact_text(arguments)}}
