"""Is a cache shared with another user or key? Two tests: is their read like a hit, and is it like one's own hits?

Null hypothesis of the first: the other's reads are like calls with prompts never sent before. Of the second: they are
like one's own reads of the same prompts. The set-up is that of Gu et al., "Auditing Prompt Caching in Language Model
APIs" (ICML 2025): one party sends a prompt, the other sends it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from hitrate.core.probe_results import Basis
from hitrate.core.statistics import fisher_exact
from hitrate.explain.probing.ranks import shorter_p

SHARED_BELOW = 0.02
"""Of p: how often "shared" may be said of a cache that is not. Below 5 % even where two scopes are tested."""
APART_BELOW = 0.03
MIXED_BELOW = 0.01
"""Of the second test by time: reads that are like hits and yet unlike one's own are of both kinds."""


class Sharing(Struct, frozen=True, kw_only=True):
    """`verdict` None: could not tell. `p_value` belongs to the test that decided, or to the first one."""

    verdict: Literal["shared", "apart"] | None
    p_value: float
    basis: Basis


def by_counts(others: Sequence[bool], own: Sequence[bool], controls: Sequence[bool]) -> Sharing:
    """`others`, `own`: whether the other's and one's own reads were found; `controls`: never-seen prompts."""
    like_hits = _more_often(others, controls)
    if like_hits < SHARED_BELOW:
        return Sharing(verdict="shared", p_value=like_hits, basis="counts")
    unlike_own = _more_often(own, others)
    if unlike_own < APART_BELOW:
        return Sharing(verdict="apart", p_value=unlike_own, basis="counts")
    return Sharing(verdict=None, p_value=like_hits, basis="counts")


def by_time(others: Sequence[float], own: Sequence[float], controls: Sequence[float]) -> Sharing:
    """The same with times to first token of prompts of one length."""
    like_hits = shorter_p(others, controls)
    unlike_own = shorter_p(own, others)
    if like_hits < SHARED_BELOW and unlike_own >= MIXED_BELOW:
        return Sharing(verdict="shared", p_value=like_hits, basis="time")
    if unlike_own < APART_BELOW and like_hits >= SHARED_BELOW:
        return Sharing(verdict="apart", p_value=unlike_own, basis="time")
    return Sharing(verdict=None, p_value=like_hits, basis="time")


def _more_often(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Fisher's two-sided p, 1 when the first is not found more often."""
    if not first or not second or sum(first) / len(first) <= sum(second) / len(second):
        return 1.0
    return fisher_exact(sum(first), len(first) - sum(first), sum(second), len(second) - sum(second))
