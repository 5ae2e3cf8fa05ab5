"""The same lines, blocks or messages in another order: text rendered from a set, results in the order they came in."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.wording import change_in_words, place
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out


class OrderNotKept:
    name: ClassVar[str] = "order-not-kept"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "The same lines, blocks or messages come in another order than they were sent in before."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/teunlao/swift-ai-sdk/issues/39",
        "https://github.com/esengine/DeepSeek-Reasonix/issues/2189",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence = evidence.divergence
        if divergence is None or divergence.change not in ("line order", "list order"):
            return None
        if divergence.kind in ("tools", "schema") and divergence.change == "list order":
            return None
        return Recognised(
            confidence="certain",
            summary=f"The same content comes in another order in {place(divergence)}: {change_in_words(divergence)}.",
            advice="Sort what comes from a set or a map before it is rendered, and keep the results of parallel calls "
            "in the order in which they were sent the first time.",
            ruled_out=(*ruled_out(evidence), "other content: sorted, both sides are equal"),
        )
