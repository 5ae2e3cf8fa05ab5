"""Only the front is marked, while there is a history behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from hitrate.explain.causes.history_not_marked import LEAST_TOKENS
from hitrate.explain.lint.head import head_length
from hitrate.explain.lint.interface import Flaw, Request
from hitrate.explain.pairs.prompt_shape import REPLY_KINDS


class HistoryNotMarked:
    name: ClassVar[str] = "history-not-marked"
    about: ClassVar[str] = "Only the front of the prompt is marked: the history behind it is billed in full each time."

    def look(self, request: Request) -> Iterator[Flaw]:
        markers, segments = request.prompt.markers, request.prompt.segments
        if not request.facts.requires_marks or not markers:
            return
        last = max(markers, key=lambda marker: marker.after)
        behind = segments[last.after + 1 :]
        if last.after >= head_length(request.prompt) or not any(one.kind in REPLY_KINDS for one in behind):
            return
        unmarked = request.tokens_to(-1) - request.tokens_to(last.after)
        if unmarked < LEAST_TOKENS:
            return
        yield Flaw(
            "warning",
            f"The last marker stands in front of the history: about {unmarked:,} tokens (estimated) behind it are "
            "billed in full with every call.",
            "Put a marker on the last block of the newest message and move it forward with each call.",
            last.pointer,
        )
