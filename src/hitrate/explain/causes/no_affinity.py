"""Hits come and go within seconds, and nothing keeps the conversation on one machine."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.server import has_slots
from hitrate.explain.signs import hits_and_misses, lost_in_conversation, steps, warm_by_time, was_hit

_TWICE = 2


class NoAffinity:
    name: ClassVar[str] = "no-affinity"
    verdict: ClassVar[Verdict] = "routing"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "Hits come and go although the text only grows, as on several machines without a session key."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/weave-os/router/pull/275",
        "https://github.com/earendil-works/pi/issues/4359",
        "https://github.com/vectorize-io/hindsight/pull/3271",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        call, knob = evidence.call, evidence.facts.affinity_knob
        if knob is None or call.affinity is not None or has_slots(evidence.facts):
            return None
        if lost_in_conversation(evidence) is None or warm_by_time(evidence):
            return None
        hits, misses = hits_and_misses(evidence)
        if not hits or not misses:
            return None
        time = _time_follows(evidence)
        seen_in_time = "; the time to the first token follows the counts" if time else ""
        return Recognised(
            confidence="likely" if misses >= _TWICE or time else "possible",
            summary=f"Of {hits + misses} requests that could have read the conversation's history {hits} found it "
            f"and {misses} did not, though its text only grows{seen_in_time}: "
            "this fits several machines, and no session key was sent.",
            advice=f"Send {knob} with one value per conversation.",
            ruled_out=ruled_out(evidence),
        )


def _time_follows(evidence: Evidence) -> bool:
    """Whether every miss took at least one and a half times as long to its first token as every hit."""
    times: dict[bool, list[float]] = {True: [], False: []}
    for before, call in steps(evidence):
        found = was_hit(before, call, evidence.facts)
        if found is not None and call.ttft_s is not None:
            times[found].append(call.ttft_s)
    return bool(times[True]) and bool(times[False]) and min(times[False]) > 1.5 * max(times[True])
