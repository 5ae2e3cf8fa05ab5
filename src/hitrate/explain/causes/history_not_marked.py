"""The last marker stays where it is while the conversation grows behind it."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Recognised, Seen
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.signs import SAME_CONVERSATION, noise_tokens, served_nothing

LEAST_TOKENS = 256
"""Unmarked tokens behind the last marker below which a second write would not be worth a finding."""


class HistoryNotMarked:
    name: ClassVar[str] = "history-not-marked"
    verdict: ClassVar[Verdict] = "breakpoints"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "Only the front of the prompt is marked: reads stay the same while the history is billed in full each time."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/timescale/tiger-agents-for-work/pull/275",
        "https://github.com/cline/cline/issues/5067",
        "https://github.com/anthropics/claude-code/issues/34629",
        "https://github.com/anomalyco/opencode/issues/38725",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        before, call = evidence.before, evidence.call
        if before is None or not evidence.facts.requires_marks or not before.marks or not call.marks:
            return None
        if evidence.divergence is not None or evidence.pair.relation not in SAME_CONVERSATION - {"rewind"}:
            return None
        last, last_before = call.marks[-1].characters, before.marks[-1].characters
        if last > last_before or before.characters <= last:
            return None
        if not _reads_the_marked_front(evidence, before):
            return None
        unmarked = call.usage.fresh_tokens
        if unmarked is None or unmarked < LEAST_TOKENS or (evidence.lost_tokens or 0) <= 0:
            return None
        place = f" ({evidence.markers[-1].pointer})" if evidence.markers else ""
        which = "The only marker" if len(call.marks) == 1 else f"The last of {len(call.marks)} markers"
        return Recognised(
            confidence="certain",
            summary=f"{which}{place} stands in front of the history: {call.usage.cached_tokens or 0:,} tokens up to it "
            f"were read, {unmarked:,} behind it billed in full.",
            advice="Put a marker on the last block of the newest message and move it forward with each call.",
            ruled_out=ruled_out(evidence),
        )


def _reads_the_marked_front(evidence: Evidence, before: Seen) -> bool:
    """Whether the call was served what its markers cover: otherwise something else went wrong, too.

    A front below the minimum is no entry, and then nothing at all is served.
    """
    cached, covered = evidence.call.usage.cached_tokens, before.usage
    if cached is None or covered.cached_tokens is None:
        return False
    left = covered.cached_tokens + (covered.written_tokens or 0)
    return left > 0 and not served_nothing(evidence.call) and cached >= left - noise_tokens(evidence)
