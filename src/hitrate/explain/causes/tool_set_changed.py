"""Tools that were added to a session, or taken from it."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.pointers import inside_schema, whole_list_of_tools
from hitrate.explain.causes.wording import change_in_words, listed, place
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out


class ToolSetChanged:
    name: ClassVar[str] = "tool-set-changed"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "Tools were added or removed inside a session; the tools block stands in front of the history."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/multica-ai/multica/issues/6148",
        "https://github.com/rynfar/meridian/issues/367",
        "https://github.com/VicBilibily/GCMP/issues/170",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence = evidence.divergence
        if divergence is None or divergence.kind != "tools" or divergence.change != "list members":
            return None
        if inside_schema(divergence.pointer) and not whole_list_of_tools(divergence):
            return None
        which = f" ({listed(divergence.names)})" if divergence.names else ""
        return Recognised(
            confidence="certain",
            summary=f"The set of tools changed{which} at {place(divergence)}: {change_in_words(divergence)}.",
            advice="Wait for the tool servers before the first call and keep the set for the session, load late tools "
            "through a tool-search call, or switch tools off by tool choice instead of leaving them out. A tool added "
            "at the very end of the list still moves the system prompt and the history.",
            ruled_out=(*ruled_out(evidence), "another order alone: the members of the list differ"),
        )
