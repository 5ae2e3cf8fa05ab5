"""The earlier request was marked and this one is not."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.signs import SAME_CONVERSATION, lost, served_nothing


class MarkersDropped:
    name: ClassVar[str] = "markers-dropped"
    verdict: ClassVar[Verdict] = "breakpoints"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "Earlier requests of the conversation carry cache markers and this one carries none."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/langchain-ai/langchain-aws/issues/793",
        "https://github.com/anomalyco/opencode/issues/11664",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        before, call = evidence.before, evidence.call
        if before is None or not evidence.facts.requires_marks or call.marks or not before.marks:
            return None
        if evidence.divergence is not None or evidence.pair.relation not in SAME_CONVERSATION:
            return None
        if lost(evidence) is None or not served_nothing(call):
            return None
        return Recognised(
            confidence="certain",
            summary=f"Request {before.index} carries {len(before.marks)} cache markers and this one none, so it "
            "neither reads nor writes.",
            advice="Look for what takes the markers off on this path (streaming, a retry, another route) and set them "
            "there, too.",
            ruled_out=ruled_out(evidence),
        )
