"""Markers in a spelling that this wire does not read."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.signs import lost, served_nothing, text_only_grew, warm_by_time

_OWN_SPELLING = {
    "anthropic-messages": '"cache_control": {"type": "ephemeral"} on a content block',
    "bedrock-converse": '{"cachePoint": {"type": "default"}} as a block of its own',
    "openai-responses": '"prompt_cache_breakpoint" on a content part',
}


class MarkersNotRead:
    name: ClassVar[str] = "markers-not-read"
    verdict: ClassVar[Verdict] = "breakpoints"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "The request's cache markers are spelled for another API and have no effect on this one."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/cline/cline/issues/12913",
        "https://github.com/HolmesGPT/holmesgpt/issues/1684",
        "https://github.com/maximhq/bifrost/issues/6933",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        call = evidence.call
        if not call.stray_marks or call.marks or not text_only_grew(evidence):
            return None
        if lost(evidence) is None or not served_nothing(call) or warm_by_time(evidence):
            return None
        own = _OWN_SPELLING.get(call.dialect)
        first = call.stray_marks[0]
        many = "The marker" if len(call.stray_marks) == 1 else f"The {len(call.stray_marks)} markers"
        wire = call.dialect or "this wire"
        return Recognised(
            confidence="likely" if evidence.facts.requires_marks else "possible",
            summary=f"{many} (first at {first}) are members that {wire} does not read; nothing was written and nothing "
            "read.",
            advice=f"On {wire} write {own}." if own else "Leave them out, and ask what your provider reads instead.",
            ruled_out=ruled_out(evidence),
        )
