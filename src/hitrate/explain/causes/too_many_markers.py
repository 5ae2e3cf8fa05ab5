"""More cache markers than the API takes."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Recognised


class TooManyMarkers:
    name: ClassVar[str] = "too-many-markers"
    verdict: ClassVar[Verdict] = "breakpoints"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "A request carries more cache markers than the API takes, and is refused or has some of them ignored."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/continuedev/continue/pull/6937",
        "https://github.com/pydantic/pydantic-ai/issues/3467",
        "https://github.com/Wei-Shaw/sub2api/issues/176",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        call, most = evidence.call, evidence.facts.most_marks
        if most is None or len(call.marks) <= most:
            return None
        refused = call.status is not None and 400 <= call.status < 500
        if not refused and call.answered and (call.usage.cached_tokens or 0) > 0:
            return None
        return Recognised(
            confidence="certain" if refused else "likely",
            summary=f"{len(call.marks)} markers where {most} are allowed"
            + (f"; the request was refused with status {call.status}." if refused else "."),
            advice="Drop the oldest markers inside the messages; keep the one behind tools or system and the one on "
            "the newest message.",
        )
