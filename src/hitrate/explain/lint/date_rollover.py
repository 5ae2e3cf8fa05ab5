"""A date in front of the history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from hitrate.explain.lint.interface import Flaw, Request
from hitrate.explain.lint.shaped import shaped


class DateRollover:
    name: ClassVar[str] = "date-rollover"
    about: ClassVar[str] = "A date in the tools or the system prompt: if it is today's, the prefix breaks at midnight."

    def look(self, request: Request) -> Iterator[Flaw]:
        yield from shaped(
            request,
            "date",
            "The date",
            "If it is today's date, keep that of the session's start and announce a new day in the newest message; a "
            "date that never changes is fine.",
        )
