"""A Converse request as a canonical prompt: tools, output schema, system, messages, as on the Messages wire.

https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html. Cache points are blocks of their own on this
wire: each marks what stands before it. Ids of tool calls stand in the prompt, as on the Messages wire. The model is in
the path of the request, so the namespace holds it only if the body repeats it.
"""

from __future__ import annotations

from hitrate.core.prompt import CanonicalPrompt
from hitrate.core.spans import Node
from hitrate.targets.dialects.prompt_builder import PromptBuilder, digest, media_text, message_object, request_object

_EXAMPLE = '{"messages": [...]}'

_MEDIA = ("image", "document", "video", "audio")


def canonical(body: bytes) -> CanonicalPrompt:
    """The prompt of a request body. ValueError, one line, with line and column or the JSON pointer at fault."""
    return prompt_of(request_object(body, "messages", _EXAMPLE))


def prompt_of(root: Node) -> CanonicalPrompt:
    """The same of a body that was read already, with an array of messages."""
    members = root.members()
    builder = _Builder()
    tools = members["toolConfig"].get("tools") if "toolConfig" in members else None
    for tool in tools.items() if tools is not None else ():
        if not builder.cache_point(tool):
            builder.tool(tool.get("toolSpec") or tool)
    schema = _inside(root, "outputConfig", "textFormat", "structure")
    if schema is not None:
        builder.value("schema", schema)
    if "system" in members:
        for block in members["system"].items():
            builder.block("system", block)
    for message in members["messages"].items():
        builder.message(message)
    return builder.finish(root.value)


def _inside(node: Node | None, *names: str) -> Node | None:
    for name in names:
        node = node.get(name) if node is not None else None
    return node


class _Builder(PromptBuilder):
    def cache_point(self, node: Node) -> bool:
        point = node.get("cachePoint")
        if point is None:
            return False
        self.mark_here(point)
        return True

    def message(self, node: Node) -> None:
        members = message_object(node)
        kind = "assistant" if node.value.get("role") == "assistant" else "user"
        before = len(self.segments)
        for block in members["content"].items() if "content" in members else ():
            self.block(kind, block)
        if len(self.segments) == before:
            self.add(kind, node, "")

    def block(self, kind: str, node: Node) -> None:
        members = node.members()
        if self.cache_point(node):
            return
        text = members.get("text")
        result = members.get("toolResult")
        media = next((members[name] for name in _MEDIA if name in members), None)
        if text is not None and isinstance(text.value, str):
            self.add(kind, text, text.value)
        elif "toolUse" in members:
            self.values(kind, members["toolUse"].members(), "toolUseId", "name", "input")
        elif result is not None:
            self.result(result)
        elif "reasoningContent" in members:
            self.reasoning(kind, members["reasoningContent"])
        elif media is not None:
            self.media(media)
        else:
            self.value(kind, node)

    def result(self, node: Node) -> None:
        members = node.members()
        self.values("tool", members, "toolUseId")
        for part in members["content"].items() if "content" in members else ():
            value = part.get("json")
            if value is not None:
                self.value("tool", value)
            else:
                self.block("tool", part)

    def reasoning(self, kind: str, node: Node) -> None:
        text = _inside(node, "reasoningText", "text")
        hidden = node.get("redactedContent") or _inside(node, "reasoningText", "signature")
        if text is not None and text.value:
            self.value(kind, text)
        elif hidden is not None:
            self.opaque(kind, hidden)
        else:
            self.value(kind, node)

    def media(self, node: Node) -> None:
        data = _inside(node, "source", "bytes")
        if data is not None and isinstance(data.value, str):
            self.add("image", data, digest(data.value))
        else:
            self.add("image", node, media_text(node.value))
