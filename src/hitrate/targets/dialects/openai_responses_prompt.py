"""A Responses request as a canonical prompt: tools, text format, instructions, input, in that order.

The order is that of https://platform.openai.com/docs/guides/prompt-caching. Ids of items and tool calls stand in the
prompt where they are sent: agents that make new ones each turn lose the cache from there on.

What the server keeps (`previous_response_id`, `conversation`) is not in the body and not in the prompt made of it.
"""

from __future__ import annotations

from hitrate.core import spans
from hitrate.core.prompt import CanonicalPrompt
from hitrate.core.spans import Node
from hitrate.targets.dialects.prompt_builder import PromptBuilder, media_text, message_object

_EXAMPLE = '{"model": ..., "input": ...}'

_CALLS = ("function_call", "custom_tool_call", "mcp_call", "local_shell_call", "shell_call", "computer_call")

_RESULTS = tuple(f"{call}_output" for call in _CALLS)

_TEXTS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal", "summary_text": "text"}

_MEDIA = {"input_image": ("image_url", "file_id"), "input_file": ("file_data", "file_url", "file_id")}


def canonical(body: bytes) -> CanonicalPrompt:
    """The prompt of a request body. ValueError, one line, with line and column or the JSON pointer at fault."""
    return prompt_of(spans.parse(spans.decode_text(body)))


def prompt_of(root: Node) -> CanonicalPrompt:
    """The same of a body that was read already."""
    if not isinstance(root.value, dict):
        raise ValueError("the request body is not a JSON object")
    members = root.members()
    prompt = members.get("input")
    template = root.value.get("prompt")
    if (prompt is None or not isinstance(prompt.value, list | str)) and not isinstance(template, dict):
        raise ValueError(f"/input: expected text or an array of items, as in {_EXAMPLE}")
    builder = _Builder()
    if "tools" in members:
        for tool in members["tools"].items():
            builder.tool(tool)
    text_format = members["text"].get("format") if "text" in members else None
    if text_format is not None and isinstance(text_format.value, dict) and "schema" in text_format.value:
        builder.value("schema", text_format)
    builder.values("system", members, "instructions")
    if prompt is not None and isinstance(prompt.value, str):
        builder.value("user", prompt)
    elif prompt is not None:
        for item in prompt.items():
            builder.item(item)
    return builder.finish(root.value, *([f"prompt={spans.compact(template)}"] if isinstance(template, dict) else ()))


class _Builder(PromptBuilder):
    markers_on_objects = ("prompt_cache_breakpoint",)

    def item(self, node: Node) -> None:
        members = message_object(node)
        item_type = node.value.get("type", "message")
        before = len(self.segments)
        if item_type == "message":
            kind = _kind(node.value.get("role"))
            self.values(kind, members, "id")
            if "content" in members:
                self.content(kind, members["content"])
        elif item_type == "reasoning":
            self.values("assistant", members, "id")
            self.reasoning(members)
        elif item_type in _CALLS:
            self.values("assistant", members, "id", "call_id", "name", "arguments", "input", "action")
        elif item_type in _RESULTS:
            self.values("tool", members, "id", "call_id")
            if "output" in members:
                self.content("tool", members["output"])
        else:
            self.value("assistant", node)
        if len(self.segments) == before:
            self.add("user", node, "")
        self.mark(members)

    def reasoning(self, members: dict[str, Node]) -> None:
        """Encrypted reasoning is the reasoning itself; without it, its text, or the summary that stands for it."""
        encrypted = members.get("encrypted_content")
        if encrypted is not None and encrypted.value:
            self.opaque("assistant", encrypted)
            return
        for name in ("content", "summary"):
            if name in members and members[name].value:
                self.content("assistant", members[name])
                return

    def content(self, kind: str, node: Node) -> None:
        if isinstance(node.value, list):
            for part in node.items():
                self.part(kind, part)
        elif node.value is not None:
            self.value(kind, node)

    def part(self, kind: str, node: Node) -> None:
        members = node.members()
        part_type = str(node.value.get("type")) if isinstance(node.value, dict) else ""
        text = members.get(_TEXTS.get(part_type, "text"))
        media = next((members[name] for name in _MEDIA.get(part_type, ()) if name in members), None)
        if text is not None and isinstance(text.value, str):
            self.add(kind, text, text.value)
        elif media is not None:
            detail = node.value.get("detail")
            self.add("image", media, media_text({"url": media.value, "detail": detail}))
        else:
            self.value(kind, node)
        self.mark(members)


def _kind(role: object) -> str:
    return {"assistant": "assistant", "system": "system", "developer": "system"}.get(str(role), "user")
