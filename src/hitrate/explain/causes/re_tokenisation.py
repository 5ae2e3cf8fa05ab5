"""The same text cut into other tokens: generated ids decoded to text and encoded again."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.wording import change_in_words
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out


class ReTokenisation:
    name: ClassVar[str] = "re-tokenisation"
    verdict: ClassVar[Verdict] = "engine"
    voice: ClassVar[Voice] = "observation"
    about: ClassVar[str] = "Token ids merge or split where generated text is decoded and encoded again."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/sgl-project/sglang/issues/16521",
        "https://github.com/kubernetes-sigs/inference-perf/issues/649",
        "https://github.com/jundot/omlx/issues/1784",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence, facts = evidence.divergence, evidence.facts
        if divergence is None or divergence.change != "ids merged":
            return None
        position = divergence.pointer.rpartition("/")[2]
        blocks = ""
        if position.isdecimal() and facts.granularity > 1:
            whole = int(position) // facts.granularity * facts.granularity
            blocks = f"; in whole blocks of {facts.granularity}, {whole:,} can be reused"
        return Recognised(
            confidence="likely",
            summary=f"The text seems the same, cut into other tokens: {change_in_words(divergence)}{blocks}.",
            advice="Keep the ids that were generated and send those again, where the engine takes ids, or accept that "
            "reuse ends at the first such place.",
            ruled_out=(*ruled_out(evidence), "other text: the ids behind the place are the same, moved"),
        )
