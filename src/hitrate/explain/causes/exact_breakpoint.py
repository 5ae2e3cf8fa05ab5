"""A model family that reads only entries that end at a breakpoint, and no breakpoint at the end of the shared text."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.signs import lost, served_nothing, text_only_grew, tokens_in_reach


class ExactBreakpoint:
    name: ClassVar[str] = "exact-breakpoint"
    verdict: ClassVar[Verdict] = "breakpoints"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "An entry is read only where it ends at a breakpoint, by default the newest message: a shared opening never is."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/openai/codex/issues/35300",
        "https://github.com/MoonlightByte/NeverEndingQuest/issues/421",
        "https://github.com/vellum-ai/vellum-assistant/issues/37859",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        before, call, facts = evidence.before, evidence.call, evidence.facts
        if before is None or not facts.exact_at_breakpoints or not text_only_grew(evidence):
            return None
        if evidence.pair.relation not in ("opening", "branch", "rewind") or lost(evidence) is None:
            return None
        shared = evidence.pair.shared_characters
        if not served_nothing(call) or tokens_in_reach(evidence):
            return None
        if (evidence.reusable_tokens or 0) < facts.least_tokens:
            return None
        written = call.usage.written_tokens
        return Recognised(
            confidence="likely",
            summary=f"Both requests start with the same {shared:,} characters, but no entry ends there: the only "
            "breakpoint is at the newest message, which differs, and there is no fall-back to a shorter prefix"
            + (f"; {written:,} tokens were written that are never read." if written else "."),
            advice="Mark the end of the stable text with an explicit prompt_cache_breakpoint and send one "
            'prompt_cache_key, or set prompt_cache_options.mode to "explicit", which ends the paid writes.',
            ruled_out=ruled_out(evidence),
            where_they_part=True,
        )
