"""In which step tokens are credited, and which length to try next so that no smaller step fits too."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

SHORT_TAIL = 16
"""Tokens at the end of a prompt that may stay uncredited though tokens are credited one by one: the last token, the
header of the reply."""
TIMED_STEPS = (16, 32, 64, 128, 256, 512, 1024)
"""Steps told apart by time, which is too coarse for others."""


class Step(Struct, frozen=True, kw_only=True):
    """`step` fits every credited length; `tail` is the constant rest where tokens are credited one by one. `sure`: no
    smaller step fits, too. `try_next` is a prompt length, in tokens, that would tell."""

    step: int | None
    tail: int | None = None
    sure: bool = False
    try_next: int | None = None


def fit_step(points: Sequence[tuple[int, int]]) -> Step:
    """`points` are (prompt tokens, cached tokens) of prompts sent before whole, credited ones alone.

    The rule is that of block caches, cached = floor((prompt - 1) / step) × step, because the last prompt token is
    always computed; or the whole prompt but a short tail.
    """
    lengths = sorted({prompt for prompt, _ in points})
    if not points:
        return Step(step=None)
    tails = {prompt - cached for prompt, cached in points}
    if len(lengths) >= 2 and len(tails) == 1 and (tail := tails.pop()) < SHORT_TAIL:
        # Lengths that lie whole steps apart have one tail, too: only lengths without a common step prove it.
        if math.gcd(*(length - lengths[0] for length in lengths[1:])) < SHORT_TAIL or len(lengths) >= 4:
            return Step(step=1, tail=tail, sure=True)
        return Step(step=1, tail=tail, try_next=lengths[-1] + 7)
    common = math.gcd(*(cached for _, cached in points))
    step = next((one for one in _divisors(common) if _fits(one, points)), None)
    if step is None:
        return Step(step=None)
    if step == 1 and len(lengths) < 2:
        return Step(step=None, try_next=lengths[-1] + 7)
    if any((prompt - 1) % step > step // 2 for prompt, _ in points):
        return Step(step=step, sure=True)  # every other divisor would have credited more here
    return Step(step=step, try_next=_most_of_a_step(lengths[-1], step))


def fit_step_of_longer(points: Sequence[tuple[int, int]]) -> Step:
    """`fit_step` for prompts that went on: (prompt tokens, cached tokens of the longer one that begins with it).

    What the two share ends before the header of the reply, whose length is not known: the shortest that fits counts.
    """
    fits = [fit_step([(prompt - header, cached) for prompt, cached in points]) for header in range(SHORT_TAIL)]
    return next((fit for fit in fits if fit.step is not None), Step(step=None))


def fit_timed_step(points: Sequence[tuple[int, float]], spread_tokens: float) -> int | None:
    """From (prompt tokens, tokens served by their time) the step of `TIMED_STEPS` that alone explains them, 1 where
    all but a short tail was served; None where the spread of one time hides it."""
    if len(points) < 4:
        return None
    bound = 3 * max(spread_tokens, 1.0)

    def worst(step: int) -> float:
        return max(abs((prompt - 1) // step * step - served) for prompt, served in points)

    fitting = [step for step in (1, *TIMED_STEPS) if worst(step) <= bound]
    if len(fitting) != 1:
        return None
    return fitting[0]


def _fits(step: int, points: Sequence[tuple[int, int]]) -> bool:
    return all(cached == (prompt - 1) // step * step for prompt, cached in points)


def _divisors(number: int) -> list[int]:
    """Descending."""
    small = [one for one in range(1, math.isqrt(number) + 1) if number % one == 0]
    return sorted({*small, *(number // one for one in small)}, reverse=True)


def _most_of_a_step(longest: int, step: int) -> int:
    """A length near the longest one of which most of the last step is filled."""
    return longest // step * step + 1 + (3 * step) // 4
