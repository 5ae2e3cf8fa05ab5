"""Breaks that come again at the same place of a conversation: a clock on top changes with every call.

To find the first difference of two prompts, both have to be read and compared; for the tenth call of one that
broke nine times at one place, that says nothing new. So where the bodies part at the same byte as before, and the parts
in front of it are as many as before, the break is taken for the same one again.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from hitrate.explain.causes.interface import Cause
from hitrate.explain.diff.texts import common_prefix
from hitrate.explain.evidence import Divergence, Pair, Recognised, Seen

_TIMES = 2
"""Times that a cause was found at one place before it is expected there."""

_WIDTH = 24
"""Bytes within which a value like a time can begin to differ."""

_WHOLE_PARTS = 0.9
"""Of the text behind the break that both prompts have, that has to stand in whole parts, which hashes tell."""


class Known(NamedTuple):
    """The newest break of a conversation."""

    cause: Cause
    recognised: Recognised
    divergence: Divergence
    place: int
    """First byte in which the bodies differ."""
    shared_parts: int
    front_characters: float
    times: int

    def divergence_of(self, seen: Seen) -> Divergence:
        """For a call that repeats it; what stood there and stands there now is what it was the last time."""
        return replace(self.divergence, cacheable_share=min(1.0, self.front_characters / max(1, seen.characters)))


class Repeats:
    """`note` every break that was looked at; `again` tells whether the next one is the same."""

    def __init__(self) -> None:
        self._known: dict[int, Known] = {}

    def note(
        self,
        seen: Seen,
        pair: Pair,
        bodies: tuple[bytes, bytes],
        cause: Cause,
        recognised: Recognised,
        divergence: Divergence,
        kept_characters: int,
    ) -> None:
        """`kept_characters` stand in both prompts behind the break."""
        last = self._known.pop(seen.conversation, None)
        if pair.relation != "rewrite" or pair.kept_characters < _WHOLE_PARTS * kept_characters:
            return
        same = (
            last is not None
            and last.cause is cause
            and last.divergence.pointer == divergence.pointer
            and last.shared_parts == pair.shared_parts
        )
        self._known[seen.conversation] = Known(
            cause,
            recognised,
            divergence,
            common_prefix(*bodies),
            pair.shared_parts,
            divergence.cacheable_share * seen.characters,
            last.times + 1 if same and last is not None else 1,
        )

    def again(self, seen: Seen, pair: Pair, bodies: tuple[bytes, bytes]) -> Known | None:
        """The break that this one repeats; None where it has to be looked at."""
        known = self._known.get(seen.conversation)
        if known is None or known.times < _TIMES or pair.relation != "rewrite" or not pair.kept_characters:
            return None
        if known.shared_parts != pair.shared_parts or abs(common_prefix(*bodies) - known.place) > _WIDTH:
            return None
        return known
