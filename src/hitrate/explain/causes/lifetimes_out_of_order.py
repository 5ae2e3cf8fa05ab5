"""A marker with a longer lifetime behind one with a shorter lifetime."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.signs import asked_lifetime_s


class LifetimesOutOfOrder:
    name: ClassVar[str] = "lifetimes-out-of-order"
    verdict: ClassVar[Verdict] = "breakpoints"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "A marker with a longer lifetime stands behind one with a shorter lifetime; the API refuses the request."
    )
    reports: ClassVar[tuple[str, ...]] = ("https://platform.claude.com/docs/en/build-with-claude/prompt-caching",)

    def recognise(self, evidence: Evidence) -> Recognised | None:
        call = evidence.call
        if not evidence.facts.requires_marks or call.status is None or not 400 <= call.status < 500:
            return None
        asked = [asked_lifetime_s(mark.ttl, evidence.facts) or 0.0 for mark in call.marks]
        place = next((index for index in range(1, len(asked)) if asked[index] > asked[index - 1]), None)
        if place is None:
            return None
        return Recognised(
            confidence="likely",
            summary=f"Marker {place + 1} of {len(asked)} asks for a longer lifetime than the one before it; the "
            f"request was refused with status {call.status}.",
            advice='Put the markers with "ttl": "1h" in front of those with five minutes.',
            was=call.marks[place - 1].ttl,
            now=call.marks[place].ttl,
        )
