"""Whether a call was warm, for its time to first token."""

from __future__ import annotations

from hitrate.core.model import Usage

WARM_SHARE = 0.5
"""Of the prompt, at least, that came from cache. Less than that, and computing the rest is what took the time."""


def is_warm(usage: Usage) -> bool | None:
    """None where cached tokens are not reported."""
    return None if usage.hit_rate is None else usage.hit_rate >= WARM_SHARE
