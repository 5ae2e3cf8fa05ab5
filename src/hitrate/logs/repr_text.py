"""Values in the text that Python prints of objects, `Name(text='...', ids=[1, 2], more={'a': 1})`, as servers log them.

Only what is asked for is decoded: names and brackets inside of strings are passed over.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

_TOKEN = re.compile(
    r"""(?P<string>[bru]?'(?:[^'\\]|\\.)*'|[bru]?"(?:[^"\\]|\\.)*")|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<comma>,)""",
    re.DOTALL,
)


def literal_at(text: str, place: int) -> tuple[Any, int] | None:
    """The string, list of numbers or None that starts at a place, and where it ends; None where none does."""
    if text.startswith("None", place):
        return None, place + 4
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


def arguments(text: str, place: int) -> Iterator[tuple[str, str]]:
    """Name and text of each argument of the call whose opening bracket stands at a place; ends at its closing one, or
    where the text is cut off."""
    depth = 0
    start = place + 1
    for token in _TOKEN.finditer(text, place):
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        if (depth == 1 and token.lastgroup == "comma") or depth == 0:
            name, equals, value = text[start : token.start()].strip().partition("=")
            if equals:
                yield name, value
            start = token.end()
        if depth == 0:
            return


def end_of_arguments(text: str, place: int) -> int | None:
    """Behind the closing bracket of the one at a place; None where the text is cut off before."""
    return _end_of(text, place)
