"""No marker where nothing is cached without one."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Recognised, Seen
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.signs import WHOLE_TEXT, lost, served_nothing

_HOW = {
    "anthropic-messages": 'Put "cache_control": {"type": "ephemeral"} on the last block of the newest message and '
    "move it forward with each call, and one on the last system block.",
    "bedrock-converse": 'Put {"cachePoint": {"type": "default"}} behind the system blocks and '
    "behind the newest message.",
}


class NoMarkers:
    name: ClassVar[str] = "no-markers"
    verdict: ClassVar[Verdict] = "breakpoints"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "No request carries a cache marker, at an API that caches nothing without one."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/BerriAI/litellm/issues/33573",
        "https://github.com/HKUDS/Vibe-Trading/issues/1365",
        "https://github.com/onyx-dot-app/onyx/issues/11660",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        before, call, facts = evidence.before, evidence.call, evidence.facts
        explicit = facts.exact_at_breakpoints and _explicit_mode(call)
        if before is None or call.marks or before.marks or not (facts.requires_marks or explicit):
            return None
        if evidence.divergence is not None or evidence.pair.relation not in WHOLE_TEXT:
            return None
        if lost(evidence) is None or not served_nothing(call) or call.usage.written_tokens:
            return None
        if (evidence.reusable_tokens or 0) < facts.least_tokens:
            return None
        why = "its cache mode is explicit" if explicit else "this API caches nothing without markers"
        return Recognised(
            confidence="certain",
            summary=f"The request carries no cache marker, and {why}: {evidence.reusable_tokens or 0:,} tokens that "
            f"request {before.index} had sent, too, were billed in full.",
            advice=_HOW.get(call.dialect, "Mark the end of the stable text, or go back to the implicit mode."),
            ruled_out=ruled_out(evidence),
        )


def _explicit_mode(call: Seen) -> bool:
    return any(
        setting.pointer.endswith("prompt_cache_options/mode") and "explicit" in setting.value
        for setting in (*call.key, *call.others)
    ) or any(
        setting.pointer.endswith("prompt_cache_options") and '"mode":"explicit"' in setting.value.replace(" ", "")
        for setting in (*call.key, *call.others)
    )
