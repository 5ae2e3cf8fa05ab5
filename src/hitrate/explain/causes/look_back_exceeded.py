"""The last entry lies further back than a marker looks."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.reachable import entries_left, longest_found, out_of_reach
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.signs import SAME_CONVERSATION, lost


class LookBackExceeded:
    name: ClassVar[str] = "look-back-exceeded"
    verdict: ClassVar[Verdict] = "breakpoints"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "More content blocks were added between two markers than a marker looks back, so the last entry is not found."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/redpanda-data/ai-sdk-go/issues/205",
        "https://github.com/brightwave-inc/tidebreak/issues/1154",
        "https://github.com/anomalyco/opencode/issues/38725",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        before, call, look_back = evidence.before, evidence.call, evidence.facts.look_back
        if before is None or look_back is None or not call.marks or lost(evidence) is None:
            return None
        if evidence.divergence is not None or evidence.pair.relation not in SAME_CONVERSATION:
            return None
        entries = entries_left(evidence)
        missed = out_of_reach(call.marks, entries, look_back)
        if missed is None or missed.blocks is None:
            return None
        found = longest_found(call.marks, entries, look_back)
        served = "nothing" if found is None else f"the entry at block {found.blocks}"
        return Recognised(
            confidence="certain" if missed.blocks > look_back + 1 else "likely",
            summary=f"{missed.blocks} blocks were added between the last entry (block {missed.entry.blocks}) and the "
            f"next marker; a marker looks back {look_back} blocks at most, so {served} was found instead.",
            advice="Keep a second marker on the tail of the previous request, or join the many small blocks into one.",
            ruled_out=ruled_out(evidence),
        )
