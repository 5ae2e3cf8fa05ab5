"""Hits come and go although every request carried the conversation's session key."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.server import has_slots
from hitrate.explain.signs import hits_and_misses, lost_in_conversation, steps, warm_by_time


class AffinityIgnored:
    name: ClassVar[str] = "affinity-ignored"
    verdict: ClassVar[Verdict] = "routing"
    voice: ClassVar[Voice] = "provider suspected"
    about: ClassVar[str] = "Hits come and go although each request carries one and the same session key."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/damianvtran/local-operator/pull/995",
        "https://github.com/NousResearch/hermes-agent/issues/71576",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        if lost_in_conversation(evidence) is None or warm_by_time(evidence):
            return None
        if evidence.call.affinity is None or has_slots(evidence.facts):
            return None
        if any(before.affinity != after.affinity for before, after in steps(evidence)):
            return None
        hits, misses = hits_and_misses(evidence)
        if not hits or not misses:
            return None
        return Recognised(
            confidence="likely" if misses > 1 else "possible",
            summary=f"Of {hits + misses} requests that could have read the conversation's history {misses} did not "
            "find it, though all carry the same session key: it is ignored, or requests spill over to other machines.",
            advice="Show the provider these requests. Where a key is limited in its rate (at OpenAI about 15 requests "
            "a minute for each prefix and key), spread busy traffic over several keys.",
            ruled_out=(*ruled_out(evidence), "the session key: one value in all requests"),
        )
