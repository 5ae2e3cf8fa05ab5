"""Do credited tokens match the time saved? A discount without speed, or speed without a discount, shows here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from hitrate.core.results import Interval
from hitrate.core.statistics import mean_interval, median
from hitrate.explain.probing.looks import Look, fit_scale

LEAST_READS = 4
LEAST_SHARE = 0.5
"""A target whose hits save less than half of the time that their tokens take to compute is said not to match."""
MOST_SHARE = 1.5
LEAST_SAVING_S = 0.01
"""Below it, what happens once a text (tokenising it, say) is as large as what the cache can save."""
LEAST_OF_LARGER = 0.25
"""Reads that should save less than this part of what the larger ones should are left out: they are mostly noise. The
larger ones are as many as are needed, so that one prompt that came out far too long does not rule out all others."""
SAME_LENGTH = 1.1
"""Prompts up to a tenth longer than the shortest of them count as of one length."""


class Honesty(Struct, frozen=True, kw_only=True):
    """`saved` is time saved over the time that the credited tokens take to compute; None: too few or too noisy."""

    verdict: Literal["match", "credited but not faster", "faster than credited"] | None
    saved: Interval | None


class ColdTimes:
    """Time to first token against tokens computed, from never-seen prompts, without taking it for a straight line:
    attention makes long prompts dearer by the token. Medians of prompts of about one length, joined by lines."""

    def __init__(self, colds: Sequence[tuple[float, float]]) -> None:
        self._knots: list[tuple[float, float]] = []
        group: list[tuple[float, float]] = []
        for point in sorted(colds):
            if group and point[0] > SAME_LENGTH * group[0][0]:
                self._close(group)
                group = []
            group.append(point)
        if group:
            self._close(group)

    def _close(self, group: Sequence[tuple[float, float]]) -> None:
        self._knots.append((median([tokens for tokens, _ in group]), median([time for _, time in group])))

    def at(self, tokens: float) -> float | None:
        """Seconds; None with fewer than two lengths."""
        if len(self._knots) < 2:
            return None
        above = next((place for place, knot in enumerate(self._knots) if knot[0] >= tokens), len(self._knots) - 1)
        (low, low_s), (high, high_s) = self._knots[max(1, above) - 1], self._knots[max(1, above)]
        return low_s + (high_s - low_s) * (tokens - low) / (high - low)


def saved_share(colds: Sequence[tuple[float, float]], warm: Sequence[Look]) -> Honesty:
    """`colds` are (tokens, ttft in seconds) of never-seen prompts, `warm` calls with credited tokens."""
    scale, times = fit_scale(colds), ColdTimes(colds)
    if scale is None or scale.seconds_per_token <= 0:
        return Honesty(verdict=None, saved=None)
    savings = []
    for look in warm:
        if not look.cached_tokens or look.ttft_s is None or not scale.tells(look.cached_tokens):
            continue
        cold_s, rest_s = times.at(look.prompt_tokens), times.at(look.prompt_tokens - look.cached_tokens)
        if cold_s is not None and rest_s is not None:
            savings.append((cold_s - look.ttft_s, cold_s - rest_s))
    larger_s = sorted((expected for _, expected in savings), reverse=True)[:LEAST_READS]
    enough_s = max(LEAST_SAVING_S, LEAST_OF_LARGER * min(larger_s, default=0.0))
    shares = [saved / expected for saved, expected in savings if expected >= enough_s]
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
