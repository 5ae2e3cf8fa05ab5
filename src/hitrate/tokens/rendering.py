"""A canonical prompt as token ids, by a generic chat template.

The template of a served model is often not known; this one keeps what every template has in common: a marker with the
role opens a message, a marker ends it, and the prompt ends with the opening of the answer. So appending messages
leaves the earlier tokens an exact prefix, and an appended answer starts where the prompt ended.

Markers are single ids above every vocabulary, so text can never look like one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from hitrate.core.prompt import CanonicalPrompt, Segment
from hitrate.tokens.interface import Tokenizer

FIRST_RESERVED_ID = 1 << 24
"""Vocabularies of language models end far below (the largest known hold about 262,000 tokens)."""

_ROLES = ("tools", "schema", "system", "user", "assistant", "tool")
_OPENINGS = {role: FIRST_RESERVED_ID + number for number, role in enumerate(_ROLES)}
_END = FIRST_RESERVED_ID + 32
_NEXT_PART = FIRST_RESERVED_ID + 33
_IMAGE = FIRST_RESERVED_ID + 34

_LISTS_OF_MESSAGES = frozenset({"messages", "input", "contents"})


def prompt_tokens(prompt: CanonicalPrompt, tokenizer: Tokenizer) -> list[int]:
    """The ids of the whole prompt, the opening of the answer included. The same prompt gives the same ids."""
    return rendered(prompt, tokenizer)[0]


def rendered(prompt: CanonicalPrompt, tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """The ids of the whole prompt, and how many of them there are up to the end of each segment."""
    tokens: list[int] = []
    ends: list[int] = []
    for role, segments in _messages(prompt):
        tokens.append(_OPENINGS[role])
        is_first = True
        for segment in segments:
            # An empty text and none at all come out of a template alike; streams turn one into the other.
            if segment.text or segment.kind == "image":
                if not is_first:
                    tokens.append(_NEXT_PART)
                is_first = False
                if segment.kind == "image":
                    tokens.append(_IMAGE)
                tokens.extend(tokenizer.encode(segment.text))
            ends.append(len(tokens))
        tokens.append(_END)
    tokens.append(_OPENINGS["assistant"])
    return tokens, ends


def _messages(prompt: CanonicalPrompt) -> Iterator[tuple[str, list[Segment]]]:
    """Neighbouring segments that come from one message (or from the tool list), with its role.

    A message of images alone is taken as the user's: no other role sends them.
    """
    for _, run in groupby(prompt.segments, key=_origin):
        segments = list(run)
        yield next((segment.kind for segment in segments if segment.kind != "image"), "user"), segments


def _origin(segment: Segment) -> tuple[str, ...]:
    parts = segment.pointer.split("/")
    return tuple(parts[1:3] if len(parts) > 1 and parts[1] in _LISTS_OF_MESSAGES else parts[1:2])
