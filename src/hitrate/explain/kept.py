"""The text behind a change that both prompts have: what a change in front of it costs."""

from __future__ import annotations

from collections import Counter

from hitrate.core.prompt import CanonicalPrompt


def kept_behind(before: CanonicalPrompt, now: CanonicalPrompt) -> int:
    """Code points of segments behind the front both share that stand in both, in whatever order.

    Segments are finer than the parts of a sketch: the text of a tool's result is the same when its id is not.
    """
    was, is_now = ([(one.kind, one.text) for one in prompt.segments] for prompt in (before, now))
    front = next((place for place, (one, other) in enumerate(zip(was, is_now, strict=False)) if one != other), len(was))
    both = Counter(was[front:]) & Counter(is_now[front:])
    return sum(len(text) * count for (_, text), count in both.items())
