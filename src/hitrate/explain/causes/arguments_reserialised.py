"""Arguments of a tool call, or a JSON result, written again in another form."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.pointers import in_arguments
from hitrate.explain.causes.wording import change_in_words, place
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out

_SAME_JSON = {"json order": "with the members in another order", "json text": "printed in another form"}


class ArgumentsReserialised:
    name: ClassVar[str] = "arguments-reserialised"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "The JSON of an earlier tool call or result was parsed and printed again as other text."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/stanfordnlp/dspy/issues/10216",
        "https://github.com/OpenRouterTeam/ai-sdk-provider/issues/472",
        "https://github.com/teunlao/swift-ai-sdk/issues/39",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence = evidence.divergence
        if divergence is None or divergence.change not in _SAME_JSON or divergence.kind in ("tools", "schema"):
            return None
        arguments = in_arguments(divergence.pointer)
        what = (
            "The arguments of a tool call"
            if arguments
            else "A tool's JSON result"
            if divergence.kind == "tool"
            else "JSON"
        )
        return Recognised(
            confidence="certain",
            summary=f"{what} in {place(divergence)} {'mean' if arguments else 'means'} the same, but "
            f"{_SAME_JSON[divergence.change]}: "
            f"{change_in_words(divergence)}.",
            advice="Store the text as the model or the tool wrote it and send that again; where it has to be printed "
            "anew, always print it with sorted keys and the same separators.",
            ruled_out=(*ruled_out(evidence), "other content: parsed, both sides are equal"),
        )
