"""In which unit tokens are credited, read off identical prompts of several lengths sent twice."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct


class Granularity(Struct, frozen=True, kw_only=True):
    """`step` is the unit in tokens (1: cached tokens follow the length), None when it cannot be told.

    `minimum` brackets the shortest prompt that is credited: above the first, at most the second length.
    """

    step: int | None
    text: str
    minimum: tuple[int, int] | None = None


def infer_granularity(points: Sequence[tuple[int, int]]) -> Granularity:
    """`points` are (prompt tokens, cached tokens of the second, identical call).

    The rule tested is the one of block caches: cached = floor((prompt - 1) / step) * step, because the last prompt
    token is always computed. The largest step that fits every credited point is the answer.
    """
    credited = [(prompt, cached) for prompt, cached in points if cached > 0]
    uncredited = [prompt for prompt, cached in points if cached == 0]
    if not credited:
        return Granularity(step=None, text="Nothing was credited at any of these lengths.")
    minimum = None
    below = [prompt for prompt in uncredited if prompt < min(prompt for prompt, _ in credited)]
    if below:
        minimum = (max(below), min(prompt for prompt, _ in credited))
    common = math.gcd(*(cached for _, cached in credited))
    fitting = [
        step
        for step in range(common, 0, -1)
        if common % step == 0 and all(cached == (prompt - 1) // step * step for prompt, cached in credited)
    ]
    tails = {prompt - cached for prompt, cached in credited}
    if len({prompt for prompt, _ in credited}) > 1 and len(tails) == 1 and (tail := tails.pop()) < 16:
        if fitting and fitting[0] > 1:
            text = (
                f"These lengths cannot tell whether cached tokens follow the length or go up in steps of {fitting[0]}, "
                "because they lie whole steps apart. Use others, like 100,217,333."
            )
            return Granularity(step=None, text=text, minimum=minimum)
        text = f"Cached tokens follow the length: all but the last {tail} of every prompt (granularity 1)."
        return Granularity(step=1, text=text, minimum=minimum)
    lengths = f"{len(credited)} credited length{'s' if len(credited) != 1 else ''}"
    if not fitting:
        if common >= 16:
            text = f"Cached tokens come in multiples of {common}, but fewer than whole steps of it would give."
            return Granularity(step=None, text=text, minimum=minimum)
        return Granularity(step=None, text=f"No step fits all {lengths}.", minimum=minimum)
    step = fitting[0]
    others = [other for other in fitting[1:] if other > 1]
    text = f"Cached tokens go up in steps of {step} (fits all {lengths}"
    text += f"; {', '.join(str(other) for other in others[:3])} not excluded)." if others else ")."
    if minimum is not None:
        text += f" Nothing is credited at {minimum[0]:,} tokens, something at {minimum[1]:,}."
    return Granularity(step=step, text=text, minimum=minimum)
