"""Cache markers in a spelling that the wire they were sent on does not read.

They are looked for at the places where markers stand, never by name alone: a tool's data may hold such a member, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

_SPELLINGS = ("cache_control", "cacheControl", "cachePoint", "cache_point", "prompt_cache_breakpoint")
_IN_BYTES = tuple(f'"{name}"'.encode() for name in _SPELLINGS)

_READ_BY = {
    "anthropic-messages": {"cache_control"},
    "bedrock-converse": {"cachePoint"},
    "openai-chat": {"cache_control", "prompt_cache_breakpoint"},
    "openai-responses": {"prompt_cache_breakpoint"},
}
"""Chat completions: OpenRouter and DashScope read `cache_control`, OpenAI from GPT-5.6 on the other."""

_LISTS = ("tools", "system", "systemInstruction", "messages", "input", "contents")
_INNER_LISTS = ("content", "parts")
_INNER_OBJECTS = ("function", "toolSpec", "toolConfig")


def spells_mark(data: bytes) -> bool:
    """Whether a piece of a request may have a marker in it, on whatever wire."""
    return b"ache" in data and any(name in data for name in _IN_BYTES)


def stray_marks(body: bytes, dialect: str) -> tuple[str, ...]:
    """JSON pointers of the markers in a request body that this wire format does not read, in the order sent.

    Empty for a body without such members, and for one that is no JSON object.
    """
    if dialect not in _READ_BY and dialect != "gemini-generate":
        return ()
    read = _READ_BY.get(dialect, set())
    spellings = [
        name for name, spelled in zip(_SPELLINGS, _IN_BYTES, strict=True) if name not in read and spelled in body
    ]
    if not spellings:
        return ()
    try:
        root = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return ()
    if not isinstance(root, dict):
        return ()
    return tuple(
        f"{pointer}/{name}" for pointer, holder in _holders(root) for name in spellings if holder.get(name) is not None
    )


def _holders(root: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a request in which a marker may stand: tools, blocks and messages."""
    yield "", root
    config = root.get("toolConfig")
    if isinstance(config, dict):
        yield from _elements("/toolConfig/tools", config.get("tools"))
    for name in _LISTS:
        yield from _elements(f"/{name}", root.get(name))


def _elements(pointer: str, value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, dict):
        yield from _object(pointer, value)
    elif isinstance(value, list):
        for index, element in enumerate(value):
            if isinstance(element, dict):
                yield from _object(f"{pointer}/{index}", element)


def _object(pointer: str, value: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield pointer, value
    for name in _INNER_OBJECTS:
        if isinstance(value.get(name), dict):
            yield f"{pointer}/{name}", value[name]
    for name in _INNER_LISTS:
        if isinstance(value.get(name), list):
            yield from _elements(f"{pointer}/{name}", value[name])
