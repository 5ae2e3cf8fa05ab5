"""The strings that stand in front of the history, each at its own place in the body."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hitrate.core.prompt import CanonicalPrompt
from hitrate.core.spans import escape_pointer, resolve
from hitrate.explain.lint.interface import HeadText
from hitrate.explain.pairs.prompt_shape import HEAD_KINDS


def head_length(prompt: CanonicalPrompt) -> int:
    """How many segments lead the prompt: tools, schemas, instructions."""
    kinds = (segment.kind for segment in prompt.segments)
    return next((index for index, kind in enumerate(kinds) if kind not in HEAD_KINDS), len(prompt.segments))


def head_texts(prompt: CanonicalPrompt, body: Any) -> tuple[HeadText, ...]:
    """In the order they are rendered. Member names are none: they do not change by themselves."""
    found: list[HeadText] = []
    for index, segment in enumerate(prompt.segments[: head_length(prompt)]):
        try:
            value = resolve(body, segment.pointer)
        except (KeyError, IndexError, ValueError, TypeError):
            continue
        found.extend(HeadText(index, segment.kind, pointer, text) for pointer, text in _strings(value, segment.pointer))
    return tuple(found)


def _strings(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    waiting: list[tuple[Any, str]] = [(value, pointer)]
    while waiting:
        one, place = waiting.pop()
        if isinstance(one, str):
            yield place, one
        elif isinstance(one, dict):
            members = ((member, f"{place}/{escape_pointer(name)}") for name, member in one.items())
            waiting.extend(reversed(list(members)))
        elif isinstance(one, list):
            waiting.extend(reversed([(member, f"{place}/{index}") for index, member in enumerate(one)]))
