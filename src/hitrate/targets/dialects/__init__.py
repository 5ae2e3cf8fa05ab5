"""Wire formats, found by name."""

from __future__ import annotations

from hitrate.errors import UsageError
from hitrate.targets.dialects.interface import Dialect
from hitrate.targets.dialects.openai_chat import OpenAIChat

_DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in (OpenAIChat(),)}


def names() -> tuple[str, ...]:
    return tuple(_DIALECTS)


def dialect(name: str) -> Dialect:
    """The dialect of that name. UsageError with the known names when there is none."""
    try:
        return _DIALECTS[name]
    except KeyError:
        raise UsageError(f"no wire format called {name!r}; known: {', '.join(_DIALECTS)}") from None
