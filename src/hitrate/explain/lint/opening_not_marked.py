"""The only marker stands on the first message, behind a long opening that other conversations share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from hitrate.explain.lint.head import head_length
from hitrate.explain.lint.interface import Flaw, Request


class OpeningNotMarked:
    name: ClassVar[str] = "opening-not-marked"
    about: ClassVar[str] = "No marker stands at the end of the tools or the system prompt, which conversations share."

    def look(self, request: Request) -> Iterator[Flaw]:
        markers, facts = request.prompt.markers, request.facts
        head = head_length(request.prompt)
        if not facts.requires_marks or not markers or not head or any(marker.after < head for marker in markers):
            return
        opening = request.tokens_to(head - 1)
        if opening < facts.least_tokens:
            return
        yield Flaw(
            "note",
            f"The first marker stands behind the opening of about {opening:,} tokens (estimated): other conversations "
            "with the same tools and instructions cannot read them.",
            "Put a marker on the last block that every conversation shares.",
            markers[0].pointer,
        )
