"""Passages that are looked up for each question and put into the system prompt, in front of the history."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.sections import section_of, stands_in_system
from hitrate.explain.causes.spot import spot_of
from hitrate.explain.causes.wording import both_sides, place, quoted
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out


class RetrievedTextInSystem:
    name: ClassVar[str] = "retrieved-text-in-system"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "Passages retrieved for each question stand in the system prompt, in front of the history."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/open-webui/open-webui/issues/25150",
        "https://github.com/open-webui/open-webui/issues/19905",
        "https://github.com/superlinear-ai/raglite/issues/49",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence, spot = evidence.divergence, spot_of(evidence.divergence)
        if divergence is None or spot is None or stands_in_system(divergence, spot) is False:
            return None
        section = section_of(spot)
        if section is None or section.kind != "retrieved":
            return None
        if not section.shown_by_content and spot.numbers and spot.goes_on_alike(*spot.numbers):
            return None
        return Recognised(
            confidence="certain" if section.shown_by_content else "likely",
            summary=f"Retrieved text under {quoted(section.label)} in {place(divergence)} is another one: "
            f"{both_sides(spot)}.",
            advice="Put retrieved passages into the newest user message and keep them there when the history is sent "
            "again; only knowledge that is the same for every question belongs into the system prompt.",
            ruled_out=(*ruled_out(evidence), "a clock, a date or an id: the text itself is another one"),
        )
