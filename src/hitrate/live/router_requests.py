"""What is sent through a router to see what becomes of it. Each request holds an id by which it is found again."""

from __future__ import annotations

import json
from typing import Any

from hitrate.targets.dialects import dialect

SESSION_HEADERS = (
    "x-session-id",
    "x-session-affinity",
    "session-id",
    "x-claude-code-session-id",
    "x-dynamo-session-id",
    "x-smg-routing-key",
)
OTHER_HEADERS = ("x-request-id", "traceparent", "x-hitrate-custom")
SESSION_MEMBERS = ("user", "prompt_cache_key")


def header_value(session: str) -> str:
    return f"value-of-{session}"


def identity_in(body: bytes) -> bytes:
    start = body.index(b"hitrate-check ") + len(b"hitrate-check ")
    return body[start : start + 12]


def small_body(model: str, identity: str, session: str, gap_ms: int) -> bytes:
    system = {"role": "system", "content": "You answer with one word. " * 20}
    messages = [system, {"role": "user", "content": f"hitrate-check {identity} {gap_ms} of {session}"}]
    return dialect("openai-chat").build(model=model, messages=messages, stream=True, extra={"user": session})


def full_body(model: str, identity: str) -> bytes:
    """All that a cache or a policy may go by; keys in no alphabetical order, nothing at its default."""
    schema = {
        "type": "object",
        "properties": {"zone": {"type": "string"}, "amount": {"type": "number"}, "made_by": {"type": "string"}},
        "required": ["zone", "amount"],
    }
    tools = [
        {"type": "function", "function": {"name": name, "description": f"Looks up {name}.", "parameters": schema}}
        for name in ("weather", "account", "orders")
    ]
    marker = {"type": "ephemeral"}
    text = "You are a support agent.\r\n\tTabs, trailing space \nÅ (one sign) and Å (two), 👩‍🚀, \u200b, \\u0041, </s>."
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": [{"type": "text", "text": text, "cache_control": marker}]},
        {"role": "user", "content": "How is the weather?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"zone": "Bern",  "amount": 1.0}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": '{"sky": "clear"}'},
        {"role": "user", "content": f"hitrate-check {identity} 0"},
    ]
    body = {
        "model": model,
        "messages": messages,
        "tools": tools,
        "user": "hitrate-user",
        "prompt_cache_key": "hitrate-key",
        "max_tokens": 17,
        "temperature": 0.25,
        "hitrate_unknown": {"z": 1, "a": 2},
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    return json.dumps(body, ensure_ascii=False).encode()
