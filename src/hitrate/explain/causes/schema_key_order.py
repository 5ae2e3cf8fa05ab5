"""The same JSON with members, or entries of a list that is a set, in another order."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.wording import change_in_words, place
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out


class SchemaKeyOrder:
    name: ClassVar[str] = "schema-key-order"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "A tool or response schema is the same JSON, but its members come in another order."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/sgl-project/sglang/issues/34553",
        "https://github.com/gnachman/iTerm2/issues/687",
        "https://github.com/esengine/DeepSeek-Reasonix/issues/2189",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence = evidence.divergence
        if divergence is None or divergence.kind not in ("tools", "schema"):
            return None
        if divergence.change not in ("json order", "json text", "list order"):
            return None
        of_list = divergence.change == "list order"
        advice = (
            "Serialise definitions with sorted keys, or render them once per deployment and send that text for good."
        )
        if of_list:
            advice += (
                " A list that comes from a set (required) can be sorted; the order of an enum may mean something: fix "
                "it where it is made."
            )
        return Recognised(
            confidence="certain",
            summary=f"The same JSON is written in another way in {place(divergence)}: {change_in_words(divergence)}.",
            advice=advice,
            ruled_out=(*ruled_out(evidence), "another meaning: sorted, both sides are equal"),
        )
