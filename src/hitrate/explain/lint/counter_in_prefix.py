"""A running number in front of the history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from hitrate.explain.lint.interface import Flaw, Request
from hitrate.explain.lint.shaped import shaped


class CounterInPrefix:
    name: ClassVar[str] = "counter-in-prefix"
    about: ClassVar[str] = "A number of turns, messages or tokens in the system prompt looks as if it were counted on."

    def look(self, request: Request) -> Iterator[Flaw]:
        yield from shaped(
            request,
            "counter",
            "The number",
            "If it changes from call to call, put it into the newest message, where it costs only itself.",
        )
