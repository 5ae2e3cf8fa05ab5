"""Is anything reused, and is it told? Repeated prompts against never-seen ones of the same length, interleaved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from hitrate.core.statistics import median
from hitrate.explain.probing.looks import FOUND_SHARE, Eye, Look
from hitrate.explain.probing.ranks import shorter_p

HIDDEN_BELOW = 0.01
RELIABLE_SHARE = 0.9
"""Share of calibration calls that a single time has to tell right before it stands in for a count."""

Told = Literal["counts", "zero", "absent"]


class Reuse(Struct, frozen=True, kw_only=True):
    """`told`: cached tokens were above 0 on some read, 0 on all, or not in the replies at all. `eye` is how later
    probes read a call; its basis is None where neither counts nor single times tell."""

    told: Told
    p_value: float
    eye: Eye
    cold_s: float | None
    warm_s: float | None

    @property
    def hidden(self) -> bool:
        return self.told != "counts" and self.p_value < HIDDEN_BELOW


def judge_reuse(writes: Sequence[Look], reads: Sequence[Look]) -> Reuse:
    """`writes` are prompts never sent before, `reads` the same ones again, all of about one length."""
    cold = [look.ttft_s for look in writes if look.ttft_s is not None]
    warm = [look.ttft_s for look in reads if look.ttft_s is not None]
    counted = [look for look in reads if look.cached_tokens is not None]
    p_value = shorter_p(warm, cold)
    cold_s = median(cold) if cold else None
    warm_s = median(warm) if warm else None
    if any((look.cached_tokens or 0) >= FOUND_SHARE * look.prompt_tokens for look in counted):
        return Reuse(told="counts", p_value=p_value, eye=Eye("counts"), cold_s=cold_s, warm_s=warm_s)
    told: Told = "zero" if counted else "absent"
    eye = Eye()
    if p_value < HIDDEN_BELOW and cold_s is not None and warm_s is not None:
        size = median([float(look.prompt_tokens) for look in writes])
        off = [abs(time - cold_s) for time in cold] + [abs(time - warm_s) for time in warm]
        timed = Eye("time", cold_s, warm_s, size, 1.4826 * median(off))
        right = [timed.found(look, size) is False for look in writes if look.ttft_s is not None]
        right += [timed.found(look, size) is True for look in reads if look.ttft_s is not None]
        if sum(right) >= RELIABLE_SHARE * len(right):
            eye = timed
    return Reuse(told=told, p_value=p_value, eye=eye, cold_s=cold_s, warm_s=warm_s)
