"""The canonical prompt: a request as ordered segments, each with its place in the body as sent."""

from __future__ import annotations

from msgspec import Struct


class Segment(Struct, frozen=True, gc=False):
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


class Marker(Struct, frozen=True, gc=False):
    """A place, not text: an explicit cache breakpoint after segment number `after` (from 0)."""

    pointer: str
    after: int
    ttl: str | None = None


class CanonicalPrompt(Struct, frozen=True, gc=False):
    """Segments in the order the engine renders them, and what else is part of the cache key.

    `namespace` separates entries that never share state: model, cache salt or isolation key.
    `affinity` is the value of the first affinity knob found (`prompt_cache_key`, `user`, ...), None if there is none.
    """

    segments: tuple[Segment, ...]
    markers: tuple[Marker, ...] = ()
    namespace: tuple[str, ...] = ()
    affinity: str | None = None


class Part(Struct, frozen=True, gc=False):
    """One tool definition, schema, system block or message: the unit in which the prompts of a log are compared.

    `digest` is over the kinds and texts of its segments. So parts with one digest are the same prompt text, however
    the JSON around it was written: a string or a list with one text block, with a cache marker or without. It is of
    this process alone.
    """

    digest: int
    kind: str
    """Of its first segment."""
    characters: int
    """Code points of prompt text."""
    blocks: tuple[int, ...] = ()
    """Code points of each content block in it; they add up to `characters`."""
    marks: tuple[tuple[int, str | None], ...] = ()
    """Blocks of it, from 0, that carry an explicit cache marker, each with the lifetime as written."""


class Setting(Struct, frozen=True, gc=False):
    """A member of a request that is no prompt text: `pointer` its place in the body, `value` compact JSON.

    The pointer of a header is its name with a colon behind it.
    """

    pointer: str
    value: str


class Sketch(Struct, frozen=True, gc=False):
    """A prompt as hashes and lengths: enough to find what it shares with others, without keeping its text.

    `parts` stand in the order the engine renders them. `key` are settings known to separate cache entries; `others`
    are settings that are neither prompt text nor known to be irrelevant (sampling, limits, metadata).
    """

    parts: tuple[Part, ...]
    key: tuple[Setting, ...] = ()
    others: tuple[Setting, ...] = ()
    affinity: str | None = None
    stray_marks: tuple[str, ...] = ()
    """JSON pointers of members that are cache markers on another wire and that this one does not read."""

    @property
    def characters(self) -> int:
        return sum(part.characters for part in self.parts)
