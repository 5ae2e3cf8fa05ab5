"""Nothing is left on this side: the same text and key, in time, long enough, and not served."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.signs import lost_in_conversation, served_nothing, warm_by_time

_LEAST_CHECKS = 2


class ProviderMissed:
    name: ClassVar[str] = "provider-missed"
    verdict: ClassVar[Verdict] = "unknown"
    voice: ClassVar[Voice] = "provider suspected"
    about: ClassVar[str] = (
        "Text, key, lifetime, length, markers and order were all checked and none of them explains the miss."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/anthropics/claude-code/issues/87966",
        "https://github.com/cortexkit/anthropic-auth/issues/157",
        "https://github.com/Azure/azure-sdk-for-python/issues/39849",
        "https://github.com/openai/codex/issues/20301",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        if lost_in_conversation(evidence) is None or warm_by_time(evidence):
            return None
        checked = ruled_out(evidence)
        if len(checked) < _LEAST_CHECKS:
            return None
        what = "Nothing" if served_nothing(evidence.call) else f"Only {evidence.call.usage.cached_tokens or 0:,} tokens"
        return Recognised(
            confidence="likely" if len(checked) > _LEAST_CHECKS else "possible",
            summary=f"{what} of {evidence.reusable_tokens or 0:,} tokens that an earlier request left was served, and "
            "nothing in the requests explains it.",
            advice="Send the provider the ids of both requests; nothing has to be changed in the prompt.",
            ruled_out=checked,
        )
