"""Token counts out of a reply, each with the JSON path it was read from.

A count may come as an integer, as a float without a fraction (12.0, from servers that keep numbers as doubles) or as a
string of ASCII digits (Fireworks copies header values into its body); anything else, booleans, negative numbers and
numbers beyond any context included, is a fault and stays unknown.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from hitrate.core.usage_plans import MOST_TOKENS

Path = tuple[str, ...]


class Counts:
    """Reads counts out of a reply. Remembers where each figure came from and the first value that was no count."""

    def __init__(self, reply: dict[str, Any]) -> None:
        self.reply = reply
        self.fault: str | None = None
        self.sources: dict[str, str] = {}

    def first(self, *paths: Path) -> tuple[int | None, str]:
        """The first path with a count, and that path; or "null" if one was there without a count, or "absent"."""
        source = "absent"
        for path in paths:
            found, value = look_up(self.reply, path)
            if not found:
                continue
            count = token_count(value)
            if count is not None:
                return count, _dotted(path)
            source = "null"
            if value is not None and self.fault is None:
                self.fault = f"{_dotted(path)} is {str(value)[:40]!r}, not a token count"
        return None, source

    def take(self, figure: str, *paths: Path) -> int | None:
        """The first path with a count, noted as the source of `figure`."""
        count, source = self.first(*paths)
        if count is not None:
            self.sources[figure] = source
        return count

    def take_cached(self, *paths: Path) -> tuple[int | None, str]:
        """The cached tokens, and `Usage.cached_source`."""
        count, source = self.first(*paths)
        if count is not None:
            self.sources["cached_tokens"] = source
        return count, source

    def shared_sources(self) -> dict[str, str]:
        """The sources noted, the same object for replies with the same ones: the calls of a log are alike. Not to be
        changed."""
        return _shared(tuple(self.sources.items()))

    def add_up(self, figure: str, *needed: Path, also: tuple[Path, ...] = ()) -> int | None:
        """The sum of `needed`, and of those of `also` that are there; None if one that is needed is missing."""
        total = 0
        parts: list[str] = []
        for path in (*needed, *also):
            count, source = self.first(path)
            if count is not None:
                total += count
                parts.append(source)
            elif path in needed:
                return None
        self.sources[figure] = " + ".join(parts)
        return total


@lru_cache(maxsize=256)
def _dotted(path: Path) -> str:
    return ".".join(path)


@lru_cache(maxsize=256)
def _shared(sources: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return dict(sources)


def token_count(value: Any) -> int | None:
    """A count in one of the accepted spellings, None for anything else."""
    if isinstance(value, str):
        if not (value.isascii() and value.isdigit() and len(value) < 19):
            return None
        value = int(value)
    elif isinstance(value, float):
        if not math.isfinite(value) or value != int(value):
            return None
        value = int(value)
    elif not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= MOST_TOKENS else None


def look_up(reply: dict[str, Any], path: Path) -> tuple[bool, Any]:
    """Whether the field is there, and its value. A parent that is null counts as a field that is null."""
    value: Any = reply
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return False, None
        value = value[name]
        if value is None:
            # `usage: null` on every chunk but the last is no statement about cached tokens; null details are one.
            return name == path[-1] or name.endswith("_details"), None
    return True, value
