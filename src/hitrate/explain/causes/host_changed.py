"""Another provider, host or replica answered than the one that holds the history."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Recognised, Seen
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.signs import lost_in_reach, steps, warm_by_time, was_hit


class HostChanged:
    name: ClassVar[str] = "host-changed"
    verdict: ClassVar[Verdict] = "routing"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "Another provider, host or replica answered than the one that had answered before."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/weave-os/router/pull/275",
        "https://github.com/earendil-works/pi/issues/4359",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        before, call = evidence.before, evidence.call
        if before is None or (was := _host(before)) is None or (now := _host(call)) is None or was == now:
            return None
        if lost_in_reach(evidence) is None or warm_by_time(evidence):
            return None
        if evidence.pair.relation == "opening" and before.key != call.key:
            return None
        knob = evidence.facts.affinity_knob
        hint = f"send {knob} with one value per conversation" if knob else "pin the conversation to one of them"
        return Recognised(
            confidence="certain" if _follows_the_host(evidence) else "likely",
            summary=f"{now} answered, while {was} had answered the request before and holds its state; "
            "the text is the same.",
            advice=f"At a router of several providers, fix the order of providers or {hint}.",
            ruled_out=ruled_out(evidence),
            was=was,
            now=now,
        )


def _host(call: Seen) -> str | None:
    """Who answered; a log that names no host may name the provider as the target."""
    return call.host or call.target or None


def _follows_the_host(evidence: Evidence) -> bool:
    """Whether calls of the conversation that stayed on one host were hits."""
    stayed = [
        was_hit(before, call, evidence.facts)
        for before, call in steps(evidence)
        if _host(before) is not None and _host(before) == _host(call)
    ]
    return stayed.count(True) > 0 and stayed.count(False) == 0
