"""Where the messages of a request stand on each wire, and how a text is put behind one."""

from __future__ import annotations

from typing import Any, NamedTuple

from hitrate.core.spans import Node, compact

_LISTS = {
    "openai-chat": ("messages", "content"),
    "openai-responses": ("input", "content"),
    "anthropic-messages": ("messages", "content"),
    "gemini-generate": ("contents", "parts"),
    "bedrock-converse": ("messages", "content"),
}
"""The list of messages, and the member of a message that is its content."""

_BLOCKS = {
    "openai-chat": {"type": "text"},
    "openai-responses": {"type": "input_text"},
    "anthropic-messages": {"type": "text"},
}
"""What a block of text has beside its text."""

MARKERS = ("cache_control", "cachePoint", "prompt_cache_breakpoint")


class Message(NamedTuple):
    node: Node
    content: Node
    is_user: bool


def messages(root: Node, dialect: str) -> list[Message]:
    """Those that have content; none on a wire without messages."""
    names = _LISTS.get(dialect)
    listed = root.get(names[0]) if names is not None else None
    if names is None or listed is None:
        return []
    found = []
    for node in listed.items():
        content = node.get(names[1])
        if content is not None and isinstance(content.value, str | list):
            role = node.value.get("role", "user" if dialect == "gemini-generate" else None)
            found.append(Message(node, content, role == "user"))
    return found


def with_text(content: Any, text: str, dialect: str) -> Any:
    """A message's content with `text` behind it. A marker at its end stays at the end."""
    if isinstance(content, str):
        return f"{content}\n\n{text}"
    blocks = list(content)
    tail: list[Any] = []
    while blocks and isinstance(blocks[-1], dict) and "cachePoint" in blocks[-1]:
        tail.insert(0, blocks.pop())
    last = blocks[-1] if blocks else None
    if isinstance(last, dict) and isinstance(last.get("text"), str) and not last.get("thought"):
        blocks[-1] = {**last, "text": f"{last['text']}\n\n{text}"}
        return [*blocks, *tail]
    block = {**_BLOCKS.get(dialect, {}), "text": text}
    if isinstance(last, dict):
        marker = {name: last[name] for name in MARKERS if name in last}
        blocks[-1] = {name: value for name, value in last.items() if name not in marker}
        block |= marker
    return [*blocks, block, *tail]


def identity(content: Any) -> str:
    """Equal for the same content with a marker or without, and for a text and a list with that text alone."""
    if isinstance(content, str):
        return compact([content])
    kept: list[Any] = []
    for block in content:
        if isinstance(block, dict):
            if "cachePoint" in block:
                continue
            block = {name: value for name, value in block.items() if name not in MARKERS}
            if set(block) <= {"type", "text"} and isinstance(block.get("text"), str):
                block = block["text"]
        kept.append(block)
    return compact(kept)
