"""Do credited tokens match the time saved? A discount without speed, or speed without a discount, shows here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from hitrate.core.results import Interval
from hitrate.core.statistics import mean_interval
from hitrate.explain.probing.looks import Look, Scale

LEAST_READS = 4
LEAST_SHARE = 0.5
"""A target whose hits save less than half of the time that their tokens take to compute is said not to match."""
MOST_SHARE = 1.5


class Honesty(Struct, frozen=True, kw_only=True):
    """`saved` is time saved over the time that the credited tokens take to compute; None: too few or too noisy."""

    verdict: Literal["match", "credited but not faster", "faster than credited"] | None
    saved: Interval | None


def saved_share(scale: Scale | None, warm: Sequence[Look]) -> Honesty:
    """`scale` comes from never-seen prompts alone, `warm` are calls with credited tokens."""
    if scale is None or scale.seconds_per_token <= 0:
        return Honesty(verdict=None, saved=None)
    shares = []
    for look in warm:
        if look.cached_tokens and look.ttft_s is not None and scale.tells(look.cached_tokens):
            cold_s = scale.base_s + scale.seconds_per_token * look.prompt_tokens
            shares.append((cold_s - look.ttft_s) / (scale.seconds_per_token * look.cached_tokens))
    if len(shares) < LEAST_READS:
        return Honesty(verdict=None, saved=None)
    saved = mean_interval(shares)
    if saved.low > LEAST_SHARE and saved.high < MOST_SHARE:
        return Honesty(verdict="match", saved=saved)
    if saved.high < LEAST_SHARE:
        return Honesty(verdict="credited but not faster", saved=saved)
    if saved.low > MOST_SHARE:
        return Honesty(verdict="faster than credited", saved=saved)
    return Honesty(verdict=None, saved=saved)
