"""The provider makes an entry readable some time after the answer."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Facts, Recognised
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.signs import (
    duration,
    gap_s,
    left_by,
    lost_in_conversation,
    noise_tokens,
    served_nothing,
    steps,
    warm_by_time,
    was_hit,
)

_LONGEST_S = 15.0
"""Entries were seen to appear within seconds; a miss after a longer pause is something else."""


class WriteDelay:
    name: ClassVar[str] = "write-delay"
    verdict: ClassVar[Verdict] = "race"
    voice: ClassVar[Voice] = "observation"
    about: ClassVar[str] = (
        "Each call is served what the call before the previous one left: entries appear only after a while."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/Systemorph/MeshWeaver/pull/2108",
        "https://github.com/lvlup-sw/exarchos/issues/1815",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        if lost_in_conversation(evidence) is None or warm_by_time(evidence):
            return None
        gap = gap_s(evidence.before, evidence.call)
        if gap is None or gap > _LONGEST_S:
            return None
        behind = _one_turn_behind(evidence)
        if not behind and not _only_quick_ones_missed(evidence, gap):
            return None
        pause = f"The request came {duration(gap)} after the one before it and"
        return Recognised(
            confidence="likely",
            summary=f"{pause} was served what the call before the previous one left, as its neighbours were: the entry "
            "becomes readable with a delay."
            if behind
            else f"{pause} was not served; calls of this conversation after a longer pause were: the entry becomes "
            "readable with a delay.",
            advice="Leave some seconds between the call that writes the shared prefix and those that read it; in a "
            "quick tool loop one turn of delay has to be accepted.",
            ruled_out=ruled_out(evidence, "overlap"),
        )


def _one_turn_behind(evidence: Evidence) -> bool:
    """Whether this call and at least one more, and never a call served in full, found the turn before the previous."""
    calls = [one for one in (*evidence.earlier, evidence.call, *evidence.later) if one.answered]
    slack = noise_tokens(evidence)
    behind = full = 0
    for two_before, before, call in zip(calls, calls[1:], calls[2:], strict=False):
        cached = call.usage.cached_tokens
        older, newer = left_by(two_before, evidence.facts), left_by(before, evidence.facts)
        if cached is None or older is None or newer is None or newer - older <= slack or served_nothing(call):
            continue
        if abs(cached - older) <= slack:
            behind += 1
        elif cached >= newer - slack:
            full += 1
    return behind >= 2 and full == 0


def _only_quick_ones_missed(evidence: Evidence, gap: float) -> bool:
    """Whether every miss of the conversation came after a shorter pause than every hit, and both are there."""
    hits, misses = _gaps(evidence, evidence.facts)
    return bool(hits) and bool(misses) and max(misses) < min(hits) and gap <= max(misses)


def _gaps(evidence: Evidence, facts: Facts) -> tuple[list[float], list[float]]:
    """Pauses before the hits and before the misses of the conversation, in seconds."""
    hits: list[float] = []
    misses: list[float] = []
    for before, call in steps(evidence):
        found, gap = was_hit(before, call, facts), gap_s(before, call)
        if found is not None and gap is not None:
            (hits if found else misses).append(gap)
    return hits, misses
