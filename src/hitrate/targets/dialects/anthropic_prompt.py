"""A Messages request as a canonical prompt: tools, output schema, system, messages, in that order.

The order of tools, system and messages is Anthropic's own
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching). Ids of tool calls stand in the prompt: what is
cached is the content block, and a block with another id is another block.
"""

from __future__ import annotations

from typing import Any

from hitrate.core.prompt import CanonicalPrompt
from hitrate.core.spans import Node, compact
from hitrate.targets.dialects.prompt_builder import PromptBuilder, digest, media_text, message_object, request_object

_EXAMPLE = '{"model": ..., "messages": [...]}'

_MEDIA = ("image", "document", "file", "container_upload")


def canonical(body: bytes) -> CanonicalPrompt:
    """The prompt of a request body. ValueError, one line, with line and column or the JSON pointer at fault."""
    return prompt_of(request_object(body, "messages", _EXAMPLE))


def prompt_of(root: Node) -> CanonicalPrompt:
    """The same of a body that was read already, with an array of messages."""
    members = root.members()
    builder = _Builder()
    if "tools" in members:
        for tool in members["tools"].items():
            builder.tool(tool)
    for schema in _schemas(members):
        builder.value("schema", schema)
    if "system" in members:
        builder.content("system", members["system"])
    for message in members["messages"].items():
        builder.message(message)
    builder.mark(members)
    return builder.finish(root.value)


def _schemas(members: dict[str, Node]) -> list[Node]:
    """`output_config.format.schema`, in the beta `output_format.schema`."""
    config = members.get("output_config")
    formats = [config.get("format") if config is not None else None, members.get("output_format")]
    schemas = [one.get("schema") for one in formats if one is not None]
    return [schema for schema in schemas if schema is not None]


class _Builder(PromptBuilder):
    markers_on_objects = ("cache_control",)

    def message(self, node: Node) -> None:
        members = message_object(node)
        role = node.value.get("role")
        kind = role if role in ("assistant", "system") else "user"
        before = len(self.segments)
        if "content" in members:
            self.content(kind, members["content"])
        if len(self.segments) == before:
            self.add(kind, node, "")  # the role marks of an empty message are rendered all the same

    def content(self, kind: str, node: Node) -> None:
        if isinstance(node.value, list):
            for block in node.items():
                self.block(kind, block)
        elif node.value is not None:
            self.value(kind, node)

    def block(self, kind: str, node: Node) -> None:
        members = node.members()
        before = len(self.segments)
        block_type = node.value.get("type") if isinstance(node.value, dict) else None
        if block_type == "text":
            self.values(kind, members, "text")
        elif block_type == "thinking":
            # Without a summary the thinking itself is in the signature, encrypted.
            if node.value.get("thinking"):
                self.values(kind, members, "thinking")
            elif "signature" in members:
                self.opaque(kind, members["signature"])
        elif block_type == "redacted_thinking" and "data" in members:
            self.opaque(kind, members["data"])
        elif block_type in ("tool_use", "server_tool_use", "mcp_tool_use"):
            self.values(kind, members, "id", "server_name", "name", "input")
        elif block_type == "tool_result":
            self.values("tool", members, "tool_use_id")
            if "content" in members:
                self.content("tool", members["content"])
        elif block_type in _MEDIA and "source" in members:
            self.media(members)
        else:
            self.add(kind, node, _without_marker(node.value))
        if len(self.segments) == before:
            self.add(kind, node, "")
        self.mark(members)

    def media(self, members: dict[str, Node]) -> None:
        self.values("user", members, "title", "context")
        source = members["source"].members()
        data = source.get("data")
        if data is not None and isinstance(data.value, str):
            plain = source["type"].value == "text" if "type" in source else False
            self.add("user" if plain else "image", data, data.value if plain else digest(data.value))
            return
        address = source.get("url") or source.get("file_id") or members["source"]
        self.add("image", address, media_text(address.value))


def _without_marker(value: Any) -> str:
    if isinstance(value, dict):
        value = {name: member for name, member in value.items() if name != "cache_control"}
    return value if isinstance(value, str) else compact(value)
