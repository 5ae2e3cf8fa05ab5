"""An id or a hash in front of the history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from hitrate.explain.lint.interface import Flaw, Request
from hitrate.explain.lint.shaped import shaped


class NonceInPrefix:
    name: ClassVar[str] = "nonce-in-prefix"
    about: ClassVar[str] = "An id, a hash or another random value in the tools or the system prompt looks made anew."

    def look(self, request: Request) -> Iterator[Flaw]:
        yield from shaped(
            request,
            "id",
            "The value",
            "If it is new in each request or session, leave it out of the prompt: put it into metadata or a header, "
            "and what the model must know into the newest message.",
        )
