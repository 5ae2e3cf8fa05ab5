"""Markers in a spelling that this wire does not read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from hitrate.explain.lint.interface import Flaw, Request

_OWN_SPELLING = {
    "anthropic-messages": 'write "cache_control": {"type": "ephemeral"} on a content block',
    "bedrock-converse": 'write {"cachePoint": {"type": "default"}} as a block of its own',
    "openai-responses": 'write "prompt_cache_breakpoint" on a content part',
}


class MarkersNotRead:
    name: ClassVar[str] = "markers-not-read"
    about: ClassVar[str] = "Cache markers are spelled for another API and have no effect on this one."

    def look(self, request: Request) -> Iterator[Flaw]:
        stray = request.seen.stray_marks
        if not stray:
            return
        many = "A marker has" if len(stray) == 1 else f"{len(stray)} markers have"
        yield Flaw(
            "error" if request.facts.requires_marks and not request.prompt.markers else "warning",
            f"{many} a spelling that {request.dialect} does not read: {', '.join(stray[:6])}"
            + (", …" if len(stray) > 6 else "")
            + ".",
            f"For this API {_OWN_SPELLING.get(request.dialect, 'leave them out')}.",
            stray[0],
        )
