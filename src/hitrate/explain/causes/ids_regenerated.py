"""Ids of earlier items or tool calls that are invented again each time the history is sent."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.pointers import message_index, names_an_id
from hitrate.explain.causes.wording import place, quoted
from hitrate.explain.evidence import Divergence, Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out


class IdsRegenerated:
    name: ClassVar[str] = "ids-regenerated"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "The id of an earlier item or tool call is another one than was sent before."
    reports: ClassVar[tuple[str, ...]] = ("https://github.com/OpenHands/software-agent-sdk/issues/2905",)

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence = evidence.divergence
        if divergence is None or message_index(divergence.pointer) is None:
            return None
        if divergence.change != "id value" and not _member(divergence):
            return None
        was, now = divergence.value_was or divergence.was, divergence.value_now or divergence.now
        return Recognised(
            confidence="certain" if divergence.change == "id value" else "likely",
            summary=f"The id in {place(divergence)} was {quoted(was)} and is {quoted(now)} now.",
            advice="Store the whole item that the model returned and send it again with its id; an id that has to be "
            "made up should follow from the content or the position, so that it comes out the same each time.",
            ruled_out=(*ruled_out(evidence), "the texts around it: they agree up to the id"),
        )


def _member(divergence: Divergence) -> bool:
    """An id changed as text, or came or went as a member."""
    if divergence.offset is not None and names_an_id(divergence.pointer):
        return True
    concerned = divergence.change in ("member added", "member removed") and divergence.names
    return bool(concerned) and all(names_an_id(f"/{name}") for name in divergence.names if name)
