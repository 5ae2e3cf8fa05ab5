"""One call as a probe sees it, and how much of its prompt came from the cache: by count, or by time where none is told.

Time stands in for counts through a calibration: calls whose uncached tokens are known give seconds against uncached
tokens, and a later time is read backwards. It is only as good as the spread of the calibration, which goes with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from msgspec import Struct

from hitrate.core.model import Call
from hitrate.core.probe_results import Basis
from hitrate.core.statistics import median

FOUND_SHARE = 0.5
"""A prefix counts as found when at least this share of it was served. Less is the head of a chat template, which all
prompts share, or the start of another prefix."""
LEAST_SPREADS = 3.0
"""How many spreads of the calibration a prefix has to save before a single time can tell whether it was served."""
LEAST_TIMED_SHARE = 1 / 8
"""Of the calibration's prompts: what a much shorter prefix saves is no more than the rest that warm calls compute."""
LEAST_LENGTHS = 1.5
"""The longest calibration prompt over the shortest, below which no slope is read from them."""


class Look(Struct, frozen=True, kw_only=True):
    """An answered call. Times are seconds; `sent_at_s` and `first_token_at_s` are on the run's clock."""

    prompt_tokens: int
    cached_tokens: int | None
    ttft_s: float | None
    sent_at_s: float
    first_token_at_s: float
    ended_at_s: float
    output_tokens: int | None = None
    is_estimate: bool = False
    """`prompt_tokens` were not told: they are what the prompt's words come to."""


def look_at(call: Call, about: int | None = None) -> Look | None:
    """None for a call that was refused, broke off or came without token counts: it is no evidence of anything.

    `about` stands in for prompt tokens that were not told, where nothing else is to be had.
    """
    timing, usage = call.timing, call.usage
    if call.error is not None or call.reply is None or timing is None or usage.accounting_fault:
        return None
    prompt_tokens = about if usage.prompt_tokens is None else usage.prompt_tokens
    if prompt_tokens is None:
        return None
    ended = timing.sent_at_s + next((s for s in (timing.total_s, timing.ttft_s) if s is not None), 0.0)
    first = ended if timing.ttft_s is None else timing.sent_at_s + timing.ttft_s
    return Look(
        prompt_tokens=prompt_tokens,
        cached_tokens=usage.cached_tokens,
        ttft_s=timing.ttft_s,
        sent_at_s=timing.sent_at_s,
        first_token_at_s=first,
        ended_at_s=ended,
        output_tokens=usage.output_tokens,
        is_estimate=usage.prompt_tokens is None,
    )


class Scale(Struct, frozen=True, kw_only=True):
    """ttft = base_s + seconds_per_token × uncached tokens, give or take `spread_s` (one standard deviation)."""

    base_s: float
    seconds_per_token: float
    spread_s: float
    calls: int

    def served(self, look: Look) -> float | None:
        """Tokens of the prompt that were not computed, by its time: may be off below 0 or above the prompt."""
        if look.ttft_s is None or self.seconds_per_token <= 0:
            return None
        return look.prompt_tokens - (look.ttft_s - self.base_s) / self.seconds_per_token

    def tells(self, tokens: float) -> bool:
        """Whether one call's time is enough to see that many tokens being served."""
        return self.seconds_per_token * tokens > LEAST_SPREADS * self.spread_s


def fit_scale(points: Sequence[tuple[float, float]]) -> Scale | None:
    """From (uncached tokens, ttft in seconds); None where the lengths do not differ enough to give a slope.

    Median of the slopes of all pairs (Theil 1950; Sen, JASA 63, 1968): one slow call in four does not bend it. The
    spread is the median absolute deviation of the rest times 1.4826.
    """
    lengths = [tokens for tokens, _ in points]
    if len(points) < 4 or max(lengths) < LEAST_LENGTHS * max(1.0, min(lengths)):
        return None
    reach = (max(lengths) - min(lengths)) / 4
    slopes = [
        (time_b - time_a) / (tokens_b - tokens_a)
        for (tokens_a, time_a), (tokens_b, time_b) in combinations(points, 2)
        if abs(tokens_b - tokens_a) >= reach
    ]
    slope = median(slopes)
    base = median([time - slope * tokens for tokens, time in points])
    spread = 1.4826 * median([abs(time - base - slope * tokens) for tokens, time in points])
    return Scale(base_s=base, seconds_per_token=slope, spread_s=spread, calls=len(points))


class Eye(Struct, frozen=True):
    """How calls of a target are read: by `basis`, None while nothing is known; by time between two medians.

    `cold_s` and `warm_s` are the median times of never-seen and of repeated prompts of `size` tokens, `spread_s` how
    far single ones lie from them: for targets whose counts tell nothing.
    """

    basis: Basis | None = None
    cold_s: float = 0.0
    warm_s: float = 0.0
    size: float = 1.0
    spread_s: float = 0.0

    def found(self, look: Look, expected_tokens: float) -> bool | None:
        """Whether a prefix of `expected_tokens` was served. None where this call cannot tell."""
        if self.basis == "counts":
            return None if look.cached_tokens is None else look.cached_tokens >= FOUND_SHARE * expected_tokens
        if self.basis == "time" and look.ttft_s is not None and self.tells(expected_tokens):
            saved_s = self._a_token_s * expected_tokens
            return look.ttft_s < self.warm_s + self._a_token_s * look.prompt_tokens - FOUND_SHARE * saved_s
        return None

    def tells(self, expected_tokens: float) -> bool:
        """Whether a prefix of that length is long enough to be seen; with counts every one is."""
        if self.basis == "time":
            long_enough = expected_tokens >= LEAST_TIMED_SHARE * self.size
            return long_enough and self._a_token_s * expected_tokens >= LEAST_SPREADS * self.spread_s
        return self.basis == "counts"

    @property
    def _a_token_s(self) -> float:
        return (self.cold_s - self.warm_s) / self.size
