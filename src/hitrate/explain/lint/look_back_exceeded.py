"""The newest turn has more blocks than a marker looks back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from hitrate.explain.lint.interface import Flaw, Request


class LookBackExceeded:
    name: ClassVar[str] = "look-back-exceeded"
    about: ClassVar[str] = (
        "The newest turn has more content blocks than a marker looks back, so it does not find the call before."
    )

    def look(self, request: Request) -> Iterator[Flaw]:
        look_back, marks = request.facts.look_back, request.seen.marks
        before = _blocks_of_call_before(request)
        if look_back is None or before is None:
            return
        behind = [mark.blocks - before for mark in marks if mark.blocks >= before]
        if not behind or min(behind) < look_back:
            return
        markers = request.prompt.markers
        yield Flaw(
            "warning",
            f"{min(behind)} content blocks stand between the end of the call before and the next marker, which looks "
            f"back at {look_back}: what that call wrote is not found and is billed anew.",
            "Set a further marker within 20 blocks of the last one, or send fewer blocks a turn (join texts).",
            markers[-1].pointer if markers else None,
        )


def _blocks_of_call_before(request: Request) -> int | None:
    """Blocks up to the last answer: where the prompt of the call before ended. None without an answer."""
    kinds = [part.kind for part in request.parts]
    if "assistant" not in kinds:
        return None
    end = len(kinds) - 1 - kinds[::-1].index("assistant")
    while end and kinds[end - 1] == "assistant":
        end -= 1
    return sum(len(part.blocks) for part in request.parts[:end])
