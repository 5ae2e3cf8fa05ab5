"""A call that summarises the conversation, built from scratch instead of on the cached prefix."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out


class SummaryWithoutPrefix:
    name: ClassVar[str] = "summary-without-prefix"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "A summary (compaction) call carries the conversation's text without sharing its cached prefix."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/anomalyco/opencode/issues/25120",
        "https://github.com/openai/codex/issues/37305",
        "https://github.com/aaif-goose/goose/issues/11257",
        "https://github.com/iterate/iterate/issues/1888",
        "https://github.com/langchain-ai/deepagents/issues/5319",
        "https://github.com/anomalyco/opencode/issues/43249",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence, pair = evidence.divergence, evidence.pair
        if divergence is None or pair.relation != "summary":
            return None
        kept = f"{divergence.cacheable_share:.0%}" if divergence.cacheable_chars else "nothing"
        words = f" ({divergence.words.rstrip('.')})" if divergence.words else ""
        return Recognised(
            confidence="certain",
            summary=f"A call that carries the conversation in another form shares {kept} of its prefix: it "
            f"differs from {divergence.pointer or 'the start'} on{words}.",
            advice="Send the same tools, system prompt and messages as the last call, and append the request for a "
            "summary as the newest user message: then only that message and the summary itself are new.",
            ruled_out=(
                *ruled_out(evidence),
                "a conversation of its own: it carries the text of this one",
            ),
        )
