"""A marker on a block that looks new in each request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from hitrate.explain.causes.wording import quoted
from hitrate.explain.lint.interface import Flaw, Request
from hitrate.explain.lint.shaped import worst_in


class VolatileBlockMarked:
    name: ClassVar[str] = "volatile-block-marked"
    about: ClassVar[str] = (
        "A cache marker stands on a block of the front that looks volatile: it is written each time and never read."
    )

    def look(self, request: Request) -> Iterator[Flaw]:
        marked = {marker.after: marker.pointer for marker in request.prompt.markers}
        for head in request.head:
            found = worst_in(head.text) if head.segment in marked else None
            if found is None:
                continue
            yield Flaw(
                "warning",
                f"The marker at {marked[head.segment]} ends with a block that looks volatile "
                f"({quoted(head.text[found.start : found.end])}): each call would write it and none read it.",
                "Put the marker on the last block in front of what changes, and what changes behind it.",
                head.pointer,
                found.start,
                head.text,
                from_shape=True,
            )
