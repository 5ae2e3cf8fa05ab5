"""A time of day in front of the history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from hitrate.explain.lint.interface import Flaw, Request
from hitrate.explain.lint.shaped import shaped


class ClockInPrefix:
    name: ClassVar[str] = "clock-in-prefix"
    about: ClassVar[str] = "A time of day in the tools or the system prompt looks as if it were printed anew each time."

    def look(self, request: Request) -> Iterator[Flaw]:
        yield from shaped(
            request,
            "clock",
            "The time",
            "If it is the present time, move it behind the stable text: into the newest user message, kept there when "
            "the history is sent again, or offer it as a tool; where the day is enough, print only the date.",
        )
