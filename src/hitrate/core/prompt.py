"""The canonical prompt: a request as ordered segments, each with its place in the body as sent."""

from __future__ import annotations

from msgspec import Struct


class Segment(Struct, frozen=True):
    """One piece of prompt text.

    `kind` is "tools", "schema", "system", "user", "assistant", "tool" or "image". `pointer` is the JSON pointer
    (RFC 6901) into the request body; `start` and `end` are the code-point span of that value in the body text as
    sent. `text` is what the engine renders from it (for tool definitions: JSON in the key order as sent).
    """

    kind: str
    pointer: str
    start: int
    end: int
    text: str


class Marker(Struct, frozen=True):
    """A place, not text: an explicit cache breakpoint after segment number `after` (from 0)."""

    pointer: str
    after: int
    ttl: str | None = None


class CanonicalPrompt(Struct, frozen=True):
    """Segments in the order the engine renders them, and what else is part of the cache key.

    `namespace` separates entries that never share state: model, cache salt or isolation key.
    `affinity` is the value of the first affinity knob found (`prompt_cache_key`, `user`, ...), None if there is none.
    """

    segments: tuple[Segment, ...]
    markers: tuple[Marker, ...] = ()
    namespace: tuple[str, ...] = ()
    affinity: str | None = None
