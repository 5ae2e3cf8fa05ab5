"""What the wires have in common when a request body is read as a canonical prompt."""

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

LONGEST_OPAQUE_TEXT = 512
"""Characters of an image reference or of encrypted reasoning kept as text; longer ones stand as their SHA-256."""


def request_object(body: bytes, messages: str, example: str) -> Node:
    """The root of a request body with an array under `messages`. ValueError, one line, for any other body."""
    root = spans.parse(spans.decode_text(body))
    if not isinstance(root.value, dict):
        raise ValueError("the request body is not a JSON object")
    if not isinstance(root.value.get(messages), list):
        raise ValueError(f"/{messages}: expected an array, as in {example}")
    return root


class PromptBuilder:
    """Collects segments and markers in render order."""

    markers_on_objects: tuple[str, ...] = ()
    """Members that make the object they stand in the end of a marked prefix."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.markers: list[Marker] = []

    def add(self, kind: str, node: Node, text: str) -> None:
        self.segments.append(Segment(kind, node.pointer, node.start, node.end, text))

    def value(self, kind: str, node: Node) -> None:
        """A string as it is, anything else as compact JSON in the key order sent."""
        self.add(kind, node, node.value if isinstance(node.value, str) else spans.compact(node.value))

    def values(self, kind: str, members: dict[str, Node], *names: str) -> None:
        """Those of the named members that are there and not null."""
        for name in names:
            if name in members and members[name].value is not None:
                self.value(kind, members[name])

    def opaque(self, kind: str, node: Node) -> None:
        """Text that only the vendor can read."""
        text = node.value if isinstance(node.value, str) else spans.compact(node.value)
        self.add(kind, node, text if len(text) <= LONGEST_OPAQUE_TEXT else digest(text))

    def mark(self, members: dict[str, Node]) -> None:
        """Note an explicit breakpoint that stands on the object whose segments were just added."""
        for name in self.markers_on_objects:
            if name in members:
                self.mark_here(members[name])

    def mark_here(self, node: Node) -> None:
        if isinstance(node.value, dict) and self.segments:
            ttl = node.value.get("ttl")
            self.markers.append(Marker(node.pointer, len(self.segments) - 1, ttl if isinstance(ttl, str) else None))

    def tool(self, node: Node) -> None:
        """A tool definition as compact JSON, without its marker."""
        value = node.value
        if isinstance(value, dict):
            value = {key: member for key, member in value.items() if key not in self.markers_on_objects}
        self.add("tools", node, spans.compact(value))
        self.mark(node.members())

    def finish(self, body: dict[str, Any], *keys: str) -> CanonicalPrompt:
        """`keys` are further parts of the cache key, beside model and salts."""
        salts = tuple(f"{knob}={body[knob]}" for knob in NAMESPACE_KNOBS if is_text(body.get(knob)))
        model = body.get("model")
        return CanonicalPrompt(
            segments=tuple(self.segments),
            markers=tuple(self.markers),
            namespace=(model if isinstance(model, str) else "", *salts, *keys),
            affinity=next((body[knob] for knob in AFFINITY_KNOBS if is_text(body.get(knob))), None),
        )


def message_object(node: Node) -> dict[str, Node]:
    """The members of a message. ValueError, one line with its place, when it is no object."""
    if not isinstance(node.value, dict):
        raise ValueError(f"{node.pointer}: expected a message object, found {spans.compact(node.value)[:40]}")
    return node.members()


def is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def media_text(value: Any) -> str:
    """What stands for an image, sound or file: its address, or the hash of inline data, and the detail asked for."""
    address = value.get("url") if isinstance(value, dict) else value
    if not isinstance(address, str):
        text = spans.compact(value)
        return text if len(text) <= LONGEST_OPAQUE_TEXT else digest(text)
    short = len(address) <= LONGEST_OPAQUE_TEXT and not address.startswith("data:")
    detail = value.get("detail") if isinstance(value, dict) else None
    return (address if short else digest(address)) + (f" detail={detail}" if detail is not None else "")


def digest(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
