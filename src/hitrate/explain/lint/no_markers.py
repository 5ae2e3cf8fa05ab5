"""No marker where nothing is cached without one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from hitrate.explain.lint.interface import Flaw, Request

_HOW = {
    "anthropic-messages": 'Put "cache_control": {"type": "ephemeral"} on the last system block and on the last block '
    "of the newest message.",
    "bedrock-converse": 'Put {"cachePoint": {"type": "default"}} behind the system blocks and behind the newest '
    "message.",
}


class NoMarkers:
    name: ClassVar[str] = "no-markers"
    about: ClassVar[str] = "The request carries no cache marker, at an API that caches nothing without one."

    def look(self, request: Request) -> Iterator[Flaw]:
        facts = request.facts
        if not facts.requires_marks or request.prompt.markers or request.seen.stray_marks:
            return
        tokens = request.tokens_to(-1)
        if tokens < facts.least_tokens:
            return
        yield Flaw(
            "warning",
            f"The request carries no cache marker, and this API caches nothing without one: about {tokens:,} tokens "
            "(estimated) are billed in full each time.",
            _HOW.get(request.dialect, "Mark the end of the stable text and the end of the newest message."),
        )
