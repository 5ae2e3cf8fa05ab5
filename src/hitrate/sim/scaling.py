"""Places in a prompt, carried over from a vocabulary that stands in for the engine's to the engine's own count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Counted(NamedTuple):
    """A prompt in tokens of the stand-in, how many the engine counts of it, and up to where that is known better.

    `start` stand-in tokens are `start_tokens` of the engine's: the end of the conversation's prompt before, whose count
    was reported, if this prompt goes on from there.
    """

    tokens: int
    engine_tokens: int
    start: int = 0
    start_tokens: int = 0

    def in_engine_tokens(self, place: int) -> int:
        start, start_tokens, end, end_tokens = self.start, self.start_tokens, self.tokens, self.engine_tokens
        if place < start:
            start, start_tokens, end, end_tokens = 0, 0, start, start_tokens
        if end <= start:
            return 0
        return int(start_tokens + (place - start) / (end - start) * (end_tokens - start_tokens))


def counted(
    prompt: Sequence[int], engine_tokens: int, before: Sequence[int] = (), before_tokens: int | None = None
) -> Counted:
    """`before` is the conversation's prompt before, in tokens of the same type of sequence; its last token opens the
    answer, and so is no part of what stands there later."""
    end = len(before)
    goes_on = (
        before_tokens is not None
        and 0 < end < len(prompt)
        and before_tokens < engine_tokens
        and prompt[: end - 1] == before[: end - 1]
    )
    if not goes_on or before_tokens is None:
        return Counted(len(prompt), engine_tokens)
    return Counted(len(prompt), engine_tokens, end, before_tokens)
