"""Single calls share a long opening at whose end no marker stands."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.signs import lost, served_nothing


class OpeningNotMarked:
    name: ClassVar[str] = "opening-not-marked"
    verdict: ClassVar[Verdict] = "breakpoints"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "Requests share a long opening, and the only marker stands behind text that differs: each writes, none reads."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/pydantic/pydantic-ai/issues/3630",
        "https://github.com/vellum-ai/vellum-assistant/issues/37859",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        before, call, facts = evidence.before, evidence.call, evidence.facts
        if before is None or not facts.requires_marks or not call.marks or not before.marks:
            return None
        shared = evidence.pair.shared_characters
        if evidence.pair.relation != "opening" or lost(evidence) is None or not served_nothing(call):
            return None
        if min(mark.characters for mark in (*call.marks, *before.marks)) <= shared:
            return None
        if (evidence.reusable_tokens or 0) < facts.least_tokens:
            return None
        return Recognised(
            confidence="likely",
            summary=f"Both requests start with the same {shared:,} characters, but the first marker stands behind text "
            f"that differs; {call.usage.written_tokens or 0:,} tokens were written that no other request can read.",
            advice="Put a marker on the last block that stays the same (the end of the tools or of the fixed "
            "instructions), in front of whatever changes.",
            ruled_out=ruled_out(evidence),
            where_they_part=True,
        )
