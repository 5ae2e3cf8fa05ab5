"""Request bodies of every wire for the tests of the diff."""

from __future__ import annotations

import json
from typing import Any

from hitrate.explain.diff import Request, described, parted
from hitrate.explain.evidence import Divergence
from hitrate.targets.dialects import dialect

WIRES = (
    "openai-chat",
    "openai-responses",
    "anthropic-messages",
    "gemini-generate",
    "bedrock-converse",
    "llamacpp-completion",
)


def request(wire: str, body: Any) -> Request:
    """A body as a value or, where the bytes matter, as JSON text."""
    data = (body if isinstance(body, str) else json.dumps(body)).encode()
    return Request(dialect(wire).canonical(data), data)


def compared(wire: str, was: Any, now: Any) -> Divergence | None:
    """Where two bodies part; None where the prompt of one is the start of the other's."""
    found = parted(request(wire, was), request(wire, now))
    return None if found is None else described(found)


def chat(*messages: Any, tools: Any = None, **members: Any) -> dict[str, Any]:
    """A chat body; a message that is no object is the content of one of the user's."""
    listed = [one if isinstance(one, dict) else {"role": "user", "content": one} for one in messages]
    return {"messages": listed, **({} if tools is None else {"tools": tools}), **members}


def claude(*messages: Any, **members: Any) -> dict[str, Any]:
    return {**members, **chat(*messages)}


TEXT = {"type": "text", "text": "q"}
MARKED = {**TEXT, "cache_control": {"type": "ephemeral"}}


def system(text: Any) -> dict[str, Any]:
    return {"role": "system", "content": text}


def answer(text: Any, **members: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **members}


def call(arguments: str, name: str = "call_1") -> dict[str, Any]:
    return answer(
        None, tool_calls=[{"id": name, "type": "function", "function": {"name": "f", "arguments": arguments}}]
    )


def tool(name: str, description: str = "d", **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}
