"""A chat-completions request as a canonical prompt: what of the body an engine renders, in which order, from where.

Order: tools, response schema, messages as sent. OpenAI documents that order (tools and the schema go before the system
message: https://platform.openai.com/docs/guides/prompt-caching); chat templates of open engines put tools into or right
after the system message, where the common prefix of two requests is found at the same place.

Sampling parameters and cache markers are no segments. Ids of tool calls are: many chat templates print them, and where
one does not, an agent that keeps them loses nothing. Inside a message the order is reasoning, content, tool calls. A
tool is compact JSON with its keys in the order sent; a tool call's arguments are the string as sent.
"""

from __future__ import annotations

from hitrate.core import spans
from hitrate.core.prompt import CanonicalPrompt
from hitrate.core.spans import Node
from hitrate.targets.dialects.prompt_builder import PromptBuilder, is_text, media_text, message_object, request_object

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


def canonical(body: bytes) -> CanonicalPrompt:
    """The prompt of a request body. ValueError, one line, with line and column or the JSON pointer at fault."""
    return prompt_of(request_object(body, "messages", '{"model": ..., "messages": [...]}'))


def prompt_of(root: Node) -> CanonicalPrompt:
    """The same of a body that was read already, with an array of messages."""
    members = root.members()
    builder = _Builder()
    for name in ("tools", "functions"):
        for tool in members[name].items() if name in members else ():
            builder.tool(tool)
    if "response_format" in members:
        builder.schema(members["response_format"])
    for message in members["messages"].items():
        builder.message(message)
    builder.mark(members)
    return builder.finish(root.value)


class _Builder(PromptBuilder):
    markers_on_objects = _MARKERS

    def schema(self, node: Node) -> None:
        if isinstance(node.value, dict) and node.value.get("type") == "json_schema":
            schema = node.get("json_schema") or node
            self.add("schema", schema, spans.compact(schema.value))

    def message(self, node: Node) -> None:
        if _is_plain(node.value) and (content := node.get("content")) is not None:
            self.add(_KINDS.get(str(node.value["role"]), "user"), content, content.value)
            return
        members = message_object(node)
        kind = _KINDS.get(str(node.value.get("role")), "user")
        before = len(self.segments)
        for name in ("name", "tool_call_id"):
            if is_text(node.value.get(name)):
                self.add(kind, members[name], members[name].value)
        reasoning = next((members[name] for name in _REASONING if node.value.get(name)), None)
        if reasoning is not None:
            self.value(kind, reasoning)
        if "content" in members:
            self.content(kind, members["content"])
        if node.value.get("refusal"):
            self.value(kind, members["refusal"])
        if "tool_calls" in members:
            for call in members["tool_calls"].items():
                identifier = call.get("id")
                if identifier is not None and is_text(identifier.value):
                    self.value(kind, identifier)
                self.function(kind, call.get("function") or call)
        if node.value.get("function_call"):
            self.function(kind, members["function_call"])
        if len(self.segments) == before:
            self.add(kind, node, "")  # the role markers of an empty message are rendered all the same
        self.mark(members)

    def content(self, kind: str, node: Node) -> None:
        if isinstance(node.value, list):
            for part in node.items():
                self.part(kind, part)
        elif node.value is not None:
            self.value(kind, node)

    def part(self, kind: str, node: Node) -> None:
        if not isinstance(node.value, dict):
            self.value(kind, node)
            return
        members = node.members()
        name = node.value.get("type")
        payload = members.get(name) if isinstance(name, str) else None
        if payload is not None and isinstance(payload.value, str) and name in ("text", "refusal"):
            self.add(kind, payload, payload.value)
        elif payload is not None and isinstance(name, str) and _is_media(name):
            self.add("image", payload, media_text(payload.value))
        else:
            unmarked = {key: value for key, value in node.value.items() if key not in self.markers_on_objects}
            self.add(kind, node, spans.compact(unmarked))
        self.mark(members)

    def function(self, kind: str, node: Node) -> None:
        """A call's name and arguments, each at its own place; a call of another shape as compact JSON."""
        members = node.members()
        known = [members[name] for name in ("name", "arguments") if node.value.get(name) is not None] if members else []
        for member in known:
            self.value(kind, member)
        if not known:
            self.value(kind, node)


def _is_plain(message: object) -> bool:
    """Whether it is no more than a role and a text: the most usual message."""
    return type(message) is dict and len(message) == 2 and "role" in message and type(message.get("content")) is str


def _is_media(part_type: str) -> bool:
    return part_type.partition("_")[0] in ("image", "video", "audio", "input", "file")
