"""Nothing keeps the conversation on one machine, where the vendor has a knob for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from hitrate.explain.lint.interface import Flaw, Request


class NoAffinity:
    name: ClassVar[str] = "no-affinity"
    about: ClassVar[str] = (
        "The request names no session, though the vendor can keep one on the machine that has its state."
    )

    def look(self, request: Request) -> Iterator[Flaw]:
        knob = request.facts.affinity_knob
        if knob is None or request.seen.affinity is not None:
            return
        header = " (a header is not part of a body: then this is no finding)" if "header" in knob else ""
        yield Flaw(
            "note",
            f"The body names no session; with several machines behind the address a call may miss its history{header}.",
            f"Send {knob} with one value per conversation.",
        )
