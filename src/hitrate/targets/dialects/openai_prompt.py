"""A chat-completions request as a canonical prompt: what of the body an engine renders, in which order, from where.

Order: tools, response schema, messages as sent. OpenAI documents that order (tools and the schema go before the system
message: https://platform.openai.com/docs/guides/prompt-caching); chat templates of open engines put tools into or right
after the system message, where the common prefix of two requests is found at the same place.

Rendered text only: call ids, sampling parameters and cache markers are no segments. Inside a message the order is
reasoning, content, tool calls. A tool is compact JSON with its keys in the order sent; a tool call's arguments are the
string as sent.
"""

from __future__ import annotations

import hashlib
from typing import Any

from hitrate.core import spans
from hitrate.core.prompt import CanonicalPrompt, Marker, Segment
from hitrate.core.spans import Node

AFFINITY_KNOBS = ("prompt_cache_key", "user", "session_id")
"""Body members that name a conversation, the one that wins first (Fireworks: prompt_cache_key wins over user)."""

NAMESPACE_KNOBS = ("cache_salt", "extra_key", "prompt_cache_isolation_key")
"""Members that are part of the cache key: vLLM, SGLang and TensorRT-LLM, SGLang, Fireworks."""

_MARKERS = ("cache_control", "prompt_cache_breakpoint")
"""Explicit breakpoints on this wire: OpenRouter and DashScope, OpenAI from GPT-5.6."""

_REASONING = ("reasoning_content", "reasoning", "thinking", "reasoning_details")
"""Spellings of an assistant message's reasoning. Vendors that send two repeat the text: the first counts."""

_KINDS = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}

_LONGEST_MEDIA_TEXT = 512
"""Characters of an image reference kept as text; longer ones (inline data) stand as their SHA-256."""


def canonical(body: bytes) -> CanonicalPrompt:
    """The prompt of a request body. ValueError, one line, with line and column or the JSON pointer at fault."""
    root = spans.parse(spans.decode_text(body))
    if not isinstance(root.value, dict):
        raise ValueError("the request body is not a JSON object")
    members = root.members()
    messages = members.get("messages")
    if messages is None or not isinstance(messages.value, list):
        raise ValueError('/messages: expected an array of messages, as in {"model": ..., "messages": [...]}')
    builder = _Builder()
    for name in ("tools", "functions"):
        for tool in members[name].items() if name in members else ():
            builder.tool(tool)
    if "response_format" in members:
        builder.schema(members["response_format"])
    for message in messages.items():
        builder.message(message)
    builder.mark(members)
    return CanonicalPrompt(
        segments=tuple(builder.segments),
        markers=tuple(builder.markers),
        namespace=_namespace(root.value),
        affinity=next((root.value[knob] for knob in AFFINITY_KNOBS if _is_text(root.value.get(knob))), None),
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _namespace(body: dict[str, Any]) -> tuple[str, ...]:
    model = body.get("model")
    salts = (f"{knob}={body[knob]}" for knob in NAMESPACE_KNOBS if _is_text(body.get(knob)))
    return (model if isinstance(model, str) else "", *salts)


class _Builder:
    """Collects segments and markers in render order."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.markers: list[Marker] = []

    def add(self, kind: str, node: Node, text: str) -> None:
        self.segments.append(Segment(kind, node.pointer, node.start, node.end, text))

    def mark(self, members: dict[str, Node]) -> None:
        """Note an explicit breakpoint that stands on the object whose segments were just added."""
        for name in _MARKERS:
            node = members.get(name)
            if node is not None and isinstance(node.value, dict) and self.segments:
                ttl = node.value.get("ttl")
                self.markers.append(Marker(node.pointer, len(self.segments) - 1, ttl if isinstance(ttl, str) else None))

    def tool(self, node: Node) -> None:
        value = node.value
        marked = isinstance(value, dict) and any(name in value for name in _MARKERS)
        if marked:
            value = {key: member for key, member in value.items() if key not in _MARKERS}
        self.add("tools", node, spans.compact(value))
        if marked:
            self.mark(node.members())

    def schema(self, node: Node) -> None:
        if isinstance(node.value, dict) and node.value.get("type") == "json_schema":
            schema = node.get("json_schema") or node
            self.add("schema", schema, spans.compact(schema.value))

    def message(self, node: Node) -> None:
        if not isinstance(node.value, dict):
            raise ValueError(f"{node.pointer}: expected a message object, found {spans.compact(node.value)[:40]}")
        members = node.members()
        kind = _KINDS.get(str(node.value.get("role")), "user")
        before = len(self.segments)
        if _is_text(node.value.get("name")):
            self.add(kind, members["name"], members["name"].value)
        reasoning = next((members[name] for name in _REASONING if node.value.get(name)), None)
        if reasoning is not None:
            self.text_value(kind, reasoning)
        if "content" in members:
            self.content(kind, members["content"])
        if node.value.get("refusal"):
            self.text_value(kind, members["refusal"])
        if "tool_calls" in members:
            for call in members["tool_calls"].items():
                self.function(kind, call.get("function") or call)
        if node.value.get("function_call"):
            self.function(kind, members["function_call"])
        if len(self.segments) == before:
            self.add(kind, node, "")  # the role markers of an empty message are rendered all the same
        self.mark(members)

    def text_value(self, kind: str, node: Node) -> None:
        self.add(kind, node, node.value if isinstance(node.value, str) else spans.compact(node.value))

    def content(self, kind: str, node: Node) -> None:
        if isinstance(node.value, list):
            for part in node.items():
                self.part(kind, part)
        elif node.value is not None:
            self.text_value(kind, node)

    def part(self, kind: str, node: Node) -> None:
        if not isinstance(node.value, dict):
            self.text_value(kind, node)
            return
        members = node.members()
        name = node.value.get("type")
        payload = members.get(name) if isinstance(name, str) else None
        if payload is not None and isinstance(payload.value, str) and name in ("text", "refusal"):
            self.add(kind, payload, payload.value)
        elif payload is not None and isinstance(name, str) and _is_media(name):
            self.add("image", payload, _media_text(payload.value))
        else:
            self.add(kind, node, spans.compact(node.value))
        self.mark(members)

    def function(self, kind: str, node: Node) -> None:
        """A call's name and arguments, each at its own place; a call of another shape as compact JSON."""
        members = node.members()
        known = [members[name] for name in ("name", "arguments") if node.value.get(name) is not None] if members else []
        for member in known:
            self.text_value(kind, member)
        if not known:
            self.text_value(kind, node)


def _is_media(part_type: str) -> bool:
    return part_type.partition("_")[0] in ("image", "video", "audio", "input", "file")


def _media_text(value: Any) -> str:
    """What stands for an image, sound or file: its address, or the hash of inline data, and the detail asked for."""
    address = value.get("url") if isinstance(value, dict) else value
    if not isinstance(address, str):
        text = spans.compact(value)
        return text if len(text) <= _LONGEST_MEDIA_TEXT else _digest(text)
    short = len(address) <= _LONGEST_MEDIA_TEXT and not address.startswith("data:")
    detail = value.get("detail") if isinstance(value, dict) else None
    return (address if short else _digest(address)) + (f" detail={detail}" if detail is not None else "")


def _digest(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
