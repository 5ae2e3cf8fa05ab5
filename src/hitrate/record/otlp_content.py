"""Prompts and replies in the attributes that OpenTelemetry's conventions have for them, as text of each message.

https://github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai/gen-ai-spans.md, "Recording content on
attributes".
"""

from __future__ import annotations

from typing import Any

import msgspec

from hitrate.core.model import Call, Reply
from hitrate.targets.dialects import dialect

_ROLES = ("user", "assistant", "tool")


def content_attributes(call: Call) -> dict[str, str]:
    """Empty where the body cannot be read. Values are JSON."""
    found: dict[str, str] = {}
    try:
        segments = dialect(call.dialect).canonical(call.body).segments if call.body else ()
    except Exception:  # a body that is not of its wire has no messages to tell
        segments = ()
    system = [_text(one.text) for one in segments if one.kind == "system"]
    messages = [{"role": one.kind, "parts": [_text(one.text)]} for one in segments if one.kind in _ROLES]
    tools = [one.text for one in segments if one.kind == "tools"]
    if system:
        found["gen_ai.system_instructions"] = _json(system)
    if messages:
        found["gen_ai.input.messages"] = _json(messages)
    if tools:
        found["gen_ai.tool.definitions"] = _tools(tools)
    if call.reply is not None:
        found["gen_ai.output.messages"] = _json([_reply(call.reply)])
    return found


def _reply(reply: Reply) -> dict[str, Any]:
    parts = [{"type": "reasoning", "content": reply.reasoning}] if reply.reasoning else []
    parts += [_text(reply.text)] if reply.text else []
    parts += [{"type": "tool_call", **call} for call in map(_tool_call, reply.tool_calls)]
    return {"role": "assistant", "parts": parts, "finish_reason": reply.finish_reason or ""}


def _tool_call(call: dict[str, Any]) -> dict[str, Any]:
    """Of any wire: their members have the same few names."""
    function = call.get("function")
    told = {**call, **function} if isinstance(function, dict) else call
    arguments = next((told[name] for name in ("arguments", "input", "args") if name in told), None)
    return {"id": told.get("id") or told.get("call_id"), "name": told.get("name"), "arguments": arguments}


def _tools(texts: list[str]) -> str:
    try:
        return _json([msgspec.json.decode(text) for text in texts])
    except msgspec.DecodeError:
        return _json(texts)


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "content": text}


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
