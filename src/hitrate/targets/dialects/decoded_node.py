"""A decoded value in the shape of `spans.Node`, for readers of prompts that are not asked where things stand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from hitrate.core.prompt import CanonicalPrompt
from hitrate.core.spans import Node, escape_pointer

_READERS = {
    "openai-chat": ("openai_prompt", "messages"),
    "openai-responses": ("openai_responses_prompt", "input"),
    "anthropic-messages": ("anthropic_prompt", "messages"),
    "gemini-generate": ("gemini_prompt", "contents"),
    "bedrock-converse": ("bedrock_prompt", "messages"),
}
"""A wire's module that reads prompts, and where its list of messages stands."""


class DecodedNode(Node):
    """Has pointers, and 0 for every place in the text."""

    __slots__ = ()

    def __init__(self, pointer: str, value: Any) -> None:
        self.text = ""
        self.pointer = pointer
        self.start = self.end = 0
        self.value = value
        self._children = None

    def members(self) -> dict[str, Node]:
        if not isinstance(self.value, dict):
            return {}
        if self._children is None:
            self._children = {
                key: DecodedNode(f"{self.pointer}/{escape_pointer(key)}", value) for key, value in self.value.items()
            }
        return self._children  # type: ignore[return-value]

    def get(self, key: str) -> Node | None:
        if self._children is not None or not isinstance(self.value, dict):
            return self.members().get(key)
        return DecodedNode(f"{self.pointer}/{escape_pointer(key)}", self.value[key]) if key in self.value else None

    def items(self) -> list[Node]:
        if not isinstance(self.value, list):
            return []
        if self._children is None:
            self._children = [DecodedNode(f"{self.pointer}/{index}", value) for index, value in enumerate(self.value)]
        return self._children  # type: ignore[return-value]


@cache
def prompt_reader(wire: str) -> Callable[[Node], CanonicalPrompt]:
    """What reads the prompt of a body with a list of messages that is decoded already, on a wire that has one."""
    return import_module(f"{__package__}.{_READERS[wire][0]}").prompt_of  # type: ignore[no-any-return]


def prompt_of_decoded(value: Any, wire: str) -> CanonicalPrompt | None:
    """As the wire's `canonical` of the body that this is the value of, but for the places in it, which are 0. None for
    a body without a list of messages. ValueError as that one."""
    if wire not in _READERS or not isinstance(value, dict) or not isinstance(value.get(_READERS[wire][1]), list):
        return None
    return prompt_reader(wire)(DecodedNode("", value))
