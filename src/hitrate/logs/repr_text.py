"""Values in the text that Python prints of objects, `Name(text='...', ids=[1, 2], more={'a': 1})`, as servers log them.

Only what is asked for is decoded: names and brackets inside of strings are passed over.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from hitrate.core.lazy_pattern import lazy_pattern

_TOKEN = lazy_pattern(
    r"""(?P<string>'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<comma>,)""",
    re.DOTALL,
)


_NUMBERS = lazy_pattern(r"\[(?:[1-9]\d{0,17}|0)(?:, (?:[1-9]\d{0,17}|0))*\]")
"""A list of token ids, which is long and read faster as JSON."""


def literal_at(text: str, place: int) -> tuple[Any, int] | None:
    """The string, list of numbers or None that starts at a place, and where it ends; None where none does."""
    if text.startswith("None", place):
        return None, place + 4
    if (ids := _NUMBERS.match(text, place)) is not None:
        return json.loads(ids[0]), ids.end()
    end = _end_of(text, place)
    if end is None:
        return None
    try:
        return ast.literal_eval(text[place:end]), end
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _end_of(text: str, place: int) -> int | None:
    """Where the string or bracket that starts at a place ends."""
    depth = 0
    for token in _TOKEN.finditer(text, place):
        if depth == 0 and token.start() != place:
            return None
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        if depth == 0:
            return token.end()
    return None


def arguments(text: str, place: int) -> tuple[dict[str, str], int | None]:
    """The text of each argument, by its name, of the call whose opening bracket stands at a place; and where the call
    ends, None where the text is cut off before."""
    found: dict[str, str] = {}
    depth = 0
    start = place + 1
    for token in _TOKEN.finditer(text, place):
        kind = token.lastgroup
        if kind == "string":
            continue
        depth += (kind == "open") - (kind == "close")
        if (depth == 1 and kind == "comma") or depth == 0:
            name, equals, value = text[start : token.start()].strip().partition("=")
            if equals:
                found[name] = value
            start = token.end()
        if depth == 0:
            return found, token.end()
    return found, None
