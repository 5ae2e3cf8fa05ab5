"""Another schema for the response, which several vendors render in front of the messages."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.wording import change_in_words, place
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out


class ResponseSchemaChanged:
    name: ClassVar[str] = "response-schema-changed"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "The schema asked for the response changed; it is rendered in front of the messages."
    reports: ClassVar[tuple[str, ...]] = ("https://github.com/gnachman/iTerm2/issues/687",)

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence = evidence.divergence
        if divergence is None or divergence.kind != "schema":
            return None
        return Recognised(
            confidence="likely",
            summary=f"Another response schema is asked for ({place(divergence)}): {change_in_words(divergence)}.",
            advice="Ask for one schema throughout a session, or do without it in the steps that need none by making it "
            "a tool that is always there; how a vendor renders it is not public everywhere.",
            ruled_out=(*ruled_out(evidence), "another order of members: the schema's content differs"),
        )
