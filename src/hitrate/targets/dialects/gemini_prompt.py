"""A generateContent request as a canonical prompt: tools, response schema, system instruction, contents.

How Gemini renders tools is not published; the order is that of the other vendors. An explicit cache (`cachedContent`)
stands in front of everything and its text is not in the body: its name is part of the namespace.
"""

from __future__ import annotations

from hitrate.core.prompt import CanonicalPrompt
from hitrate.core.spans import Node
from hitrate.targets.dialects.prompt_builder import (
    PromptBuilder,
    digest,
    is_text,
    media_text,
    message_object,
    request_object,
)

_EXAMPLE = '{"contents": [...]}'

_SCHEMAS = ("responseSchema", "responseJsonSchema", "_responseJsonSchema")


def canonical(body: bytes) -> CanonicalPrompt:
    """The prompt of a request body. ValueError, one line, with line and column or the JSON pointer at fault."""
    return prompt_of(request_object(body, "contents", _EXAMPLE))


def prompt_of(root: Node) -> CanonicalPrompt:
    """The same of a body that was read already, with an array of messages."""
    builder = _Builder()
    for tool in _list(root, "tools"):
        builder.tools(tool)
    config = _member(root, "generationConfig")
    for name in _SCHEMAS:
        schema = _member(config, name)
        if schema is not None:
            builder.value("schema", schema)
    system = _member(root, "systemInstruction")
    if system is not None:
        builder.message(system, "system")
    for content in _list(root, "contents"):
        role = message_object(content).get("role")
        builder.message(content, "assistant" if role is not None and role.value == "model" else "user")
    cached = _member(root, "cachedContent")
    keys = [f"cachedContent={cached.value}"] if cached is not None and is_text(cached.value) else []
    return builder.finish(root.value, *keys)


def _member(node: Node | None, name: str) -> Node | None:
    """A member in the spelling of JSON or of the protocol buffers, both of which the API takes."""
    if node is None:
        return None
    return node.get(name) or node.get(_snake(name))


def _list(node: Node, name: str) -> list[Node]:
    found = _member(node, name)
    return [] if found is None else found.items()


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


class _Builder(PromptBuilder):
    def tools(self, node: Node) -> None:
        """One segment a function; a tool of Google's own whole."""
        functions = _list(node, "functionDeclarations")
        for one in functions or [node]:
            self.tool(one)

    def message(self, node: Node, kind: str) -> None:
        before = len(self.segments)
        if isinstance(node.value, str):
            self.value(kind, node)
            return
        for part in _list(node, "parts"):
            self.part(kind, part)
        if len(self.segments) == before:
            self.add(kind, node, "")

    def part(self, kind: str, node: Node) -> None:
        text = _member(node, "text")
        call = _member(node, "functionCall")
        result = _member(node, "functionResponse")
        inline = _member(node, "inlineData")
        file = _member(node, "fileData")
        if text is not None and isinstance(text.value, str):
            self.add(kind, text, text.value)
        elif call is not None:
            self.values(kind, call.members(), "id", "name", "args")
        elif result is not None:
            self.values("tool", result.members(), "id", "name", "response")
        elif inline is not None:
            data = inline.get("data") or inline
            self.add("image", data, digest(data.value) if isinstance(data.value, str) else media_text(data.value))
        elif file is not None:
            address = _member(file, "fileUri") or file
            self.add("image", address, media_text(address.value))
        else:
            self.value(kind, node)
            return
        signature = _member(node, "thoughtSignature")
        if signature is not None and is_text(signature.value):
            self.opaque(kind, signature)
