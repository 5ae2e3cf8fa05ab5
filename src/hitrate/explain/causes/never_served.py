"""No call of the conversation was ever served, and nothing on this side explains it."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.signs import lost_in_conversation, served_nothing, steps, warm_by_time, was_ever_served, was_hit

_LEAST_MISSES = 2


class NeverServed:
    name: ClassVar[str] = "never-served"
    verdict: ClassVar[Verdict] = "unknown"
    voice: ClassVar[Voice] = "provider suspected"
    about: ClassVar[str] = "Not one call of the conversation was served, and nothing on the caller's side explains it."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/anomalyco/opencode/issues/33998",
        "https://github.com/openai/openai-node/issues/1346",
        "https://github.com/0xPlaygrounds/rig/pull/2375",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        if lost_in_conversation(evidence) is None or not served_nothing(evidence.call) or warm_by_time(evidence):
            return None
        misses = [was_hit(before, call, evidence.facts) for before, call in steps(evidence)].count(False)
        if was_ever_served(evidence) or misses < _LEAST_MISSES:
            return None
        knob = evidence.facts.affinity_knob
        hint = f", or it needs {knob}, which was not sent" if knob and evidence.call.affinity is None else ""
        return Recognised(
            confidence="possible",
            summary=f"None of {misses} requests that could have read the conversation's history was served: this model "
            f"may not be cached at this provider, or be cached only after several calls{hint}.",
            advice="Send one prompt twice within a few seconds; if the second is not served either, ask the provider "
            "whether the model is cached" + (f", and try with {knob}." if hint else "."),
            ruled_out=ruled_out(evidence),
        )
