"""What a check is given and has to answer. One file a check beside this one.

A check that says before the fact what a cause of `explain` says after it bears the cause's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

from msgspec import Struct

from hitrate.core.linting import Severity
from hitrate.core.prompt import CanonicalPrompt, Part
from hitrate.explain.evidence import Facts, Seen


class HeadText(NamedTuple):
    """A string in front of the history: of a tool, a schema or the instructions. `segment` is an index."""

    segment: int
    kind: str
    pointer: str
    text: str


class Request(Struct, frozen=True, kw_only=True):
    """A request body as checks see it."""

    dialect: str
    body: Any
    """Decoded."""
    prompt: CanonicalPrompt
    parts: Sequence[Part]
    seen: Seen
    """Its marks, stray marks and affinity; there is no usage."""
    facts: Facts
    head: Sequence[HeadText]
    tokens_to: Callable[[int], int]
    """Estimated prompt tokens up to the end of a segment, by its index; -1 is the whole prompt."""


class Flaw(NamedTuple):
    severity: Severity
    summary: str
    advice: str
    pointer: str | None = None
    offset: int | None = None
    text: str | None = None
    """The string that `offset` counts in."""
    from_shape: bool = False
    """Told by the look of a value alone: a second request with the same text there withdraws it."""


class Check(Protocol):
    name: ClassVar[str]
    about: ClassVar[str]
    """One sentence for the list of checks."""

    def look(self, request: Request) -> Iterable[Flaw]:
        """What is wrong with the request. Pure; never raises on odd bodies."""
        ...
