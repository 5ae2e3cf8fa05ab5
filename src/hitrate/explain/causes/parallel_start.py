"""A call went out before the state it could have used was there."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.signs import duration, gap_s, lost_in_reach, overlap, served_nothing, warm_by_time


class ParallelStart:
    name: ClassVar[str] = "parallel-start"
    verdict: ClassVar[Verdict] = "race"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "Requests with one opening were sent at once: none could read what the others were still computing."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/matt-house-e/accrue/issues/116",
        "https://github.com/lvlup-sw/exarchos/issues/1815",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        before, call = evidence.before, evidence.call
        if before is None or lost_in_reach(evidence) is None or warm_by_time(evidence):
            return None
        if not overlap(before, call) or _another_was_ready(evidence):
            return None
        gap = gap_s(before, call) or 0.0
        written = call.usage.written_tokens
        wasted = f"; {written:,} tokens were written a second time" if written else ""
        return Recognised(
            confidence="certain" if before.done is not None or before.ttft_s is not None else "likely",
            summary=f"The request went out {duration(gap)} after request {before.index}, before that one's answer had "
            f"begun, so the text they share could not be read yet{wasted}.",
            advice="Send one request first, wait for its first token, then start the others.",
            ruled_out=ruled_out(evidence, "overlap", "gap"),
        )


def _another_was_ready(evidence: Evidence) -> bool:
    """Whether nothing was served though an earlier call of the conversation had been answered in time."""
    return served_nothing(evidence.call) and any(
        one.answered and not overlap(one, evidence.call) for one in evidence.earlier
    )
