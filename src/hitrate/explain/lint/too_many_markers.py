"""More cache markers than the API takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from hitrate.explain.lint.interface import Flaw, Request


class TooManyMarkers:
    name: ClassVar[str] = "too-many-markers"
    about: ClassVar[str] = "More cache markers than the API takes: the request is refused, or some are ignored."

    def look(self, request: Request) -> Iterator[Flaw]:
        markers, most = request.prompt.markers, request.facts.most_marks
        if most is None or len(markers) <= most:
            return
        places = ", ".join(marker.pointer for marker in markers)
        yield Flaw(
            "error",
            f"{len(markers)} cache markers where {most} are allowed: {places}.",
            "Drop the oldest ones inside the messages; keep the one behind tools or system and the one on the newest "
            "message.",
            markers[most].pointer,
        )
