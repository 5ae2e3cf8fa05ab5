"""The same text was marked with another lifetime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.core.prompt import Marker
from hitrate.explain.evidence import Evidence, Mark, Recognised
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.signs import asked_lifetime_s, lost_in_conversation


class MarkerLifetimeChanged:
    name: ClassVar[str] = "marker-lifetime-changed"
    verdict: ClassVar[Verdict] = "key_change"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "The same text was marked with another lifetime; the entry of the other lifetime is not read."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/yuki-uix/agent-cost-lab/issues/34",
        "https://github.com/anthropics/claude-code/issues/46829",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        before, call = evidence.before, evidence.call
        if before is None or not before.marks or not call.marks or lost_in_conversation(evidence) is None:
            return None
        was, now = _lifetimes(before.marks), _lifetimes(call.marks)
        if was == now or _seconds(evidence, was) == _seconds(evidence, now):
            return None
        pointer = _place(evidence.markers_before, evidence.markers)
        return Recognised(
            confidence="likely",
            summary=f"The lifetime asked for changed from {_said(was)} to {_said(now)}; the text is the same.",
            advice='Send the same "ttl" at every marker of a conversation; a lifetime left out counts as five minutes.',
            ruled_out=ruled_out(evidence),
            pointer=pointer,
            was=_said(was),
            now=_said(now),
        )


def _lifetimes(marks: tuple[Mark, ...]) -> frozenset[str | None]:
    return frozenset(mark.ttl for mark in marks)


def _seconds(evidence: Evidence, asked: frozenset[str | None]) -> frozenset[float | None]:
    return frozenset(asked_lifetime_s(one, evidence.facts) for one in asked)


def _said(asked: frozenset[str | None]) -> str:
    return " and ".join(sorted("the default" if one is None else one for one in asked))


def _place(before: Sequence[Marker], now: Sequence[Marker]) -> str | None:
    """The first marker that stands in both requests with another lifetime, else the first one that has a new one."""
    old = {one.pointer: one.ttl for one in before}
    new = list(now)
    both = [one for one in new if one.pointer in old and old[one.pointer] != one.ttl]
    if both:
        return both[0].pointer + ("/ttl" if both[0].ttl and old[both[0].pointer] else "")
    changed = [one for one in new if one.ttl not in set(old.values())]
    return changed[0].pointer if changed else None
