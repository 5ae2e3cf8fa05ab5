"""The same tools in another order."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.pointers import inside_schema, whole_list_of_tools
from hitrate.explain.causes.wording import listed, place, quoted
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out


class ToolOrder:
    name: ClassVar[str] = "tool-order"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "The same tools come in another order; their definitions are rendered in front of everything else."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/maximhq/bifrost/issues/2347",
        "https://github.com/openclaw/openclaw/issues/58037",
        "https://github.com/langchain-ai/deepagents/issues/2497",
        "https://github.com/librefang/librefang/issues/3765",
        "https://github.com/can1357/oh-my-pi/issues/890",
        "https://github.com/macanderson/stella/issues/1875",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence = evidence.divergence
        if divergence is None or divergence.kind != "tools" or divergence.change != "list order":
            return None
        if inside_schema(divergence.pointer) and not whole_list_of_tools(divergence):
            return None
        moved = f"; moved: {listed(divergence.names)}" if divergence.names else ""
        was, now = divergence.value_was, divergence.value_now
        differs = ""
        if was is not None and now is not None and max(len(was), len(now)) < 80:
            differs = f": {quoted(was)} stood where {quoted(now)} stands now"
        return Recognised(
            confidence="certain",
            summary=f"The same tools come in another order from {place(divergence)} on{differs}{moved}.",
            advice="Sort the tools by name before each request, or fix their order when the session starts; tools of a "
            "server that reconnects go back to their old place.",
            ruled_out=(*ruled_out(evidence), "tools added, removed or described anew: the set is the same"),
        )
