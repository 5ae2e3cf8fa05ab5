"""The prompt, or what is marked of it, is shorter than the least that is cached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from hitrate.explain.lint.interface import Flaw, Request

SURE_BELOW = 0.85
"""Of the minimum: an estimate by another vocabulary is off by some tenths."""

_MOST_CHARACTERS_A_TOKEN = 12


class TooShort:
    name: ClassVar[str] = "too-short"
    about: ClassVar[str] = "The prompt, or the marked part of it, is below the least number of tokens that is cached."

    def look(self, request: Request) -> Iterator[Flaw]:
        facts, markers = request.facts, request.prompt.markers
        minimum = facts.least_tokens
        if minimum <= 1 or (facts.requires_marks and not markers):
            return
        if request.seen.characters > _MOST_CHARACTERS_A_TOKEN * minimum and not facts.requires_marks:
            return
        last = max((marker.after for marker in markers), default=-1) if facts.requires_marks else -1
        tokens = request.tokens_to(last)
        if tokens >= minimum:
            return
        sure = tokens < SURE_BELOW * minimum
        what = "The text up to the last marker" if facts.requires_marks else "The prompt"
        model = f" of {request.seen.model}" if request.seen.model else ""
        yield Flaw(
            "warning" if sure and facts.requires_marks else "note",
            f"{what} has about {tokens:,} tokens (estimated), {'below' if sure else 'close to'} the minimum{model}, "
            f"{minimum:,}: {'nothing is cached' if sure else 'it may not be cached'}, and no error says so.",
            "Use a model with a lower minimum, put more stable text in front if it is needed anyway"
            + (", or drop the markers." if markers else "."),
            markers[-1].pointer if markers and facts.requires_marks else None,
        )
