"""An earlier message that is not the one sent before, in a way that fits no more particular cause."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.pointers import message_index
from hitrate.explain.causes.spot import spot_of
from hitrate.explain.causes.wording import place, what_changed
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out


class HistoryEdited:
    name: ClassVar[str] = "history-edited"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "An earlier message was changed, added or taken out, in a way that fits no more particular cause."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/Luce-Org/lucebox/issues/151",
        "https://github.com/macanderson/stella/issues/3690",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence, spot = evidence.divergence, spot_of(evidence.divergence)
        if divergence is None or message_index(divergence.pointer) is None or divergence.kind in ("tools", "schema"):
            return None
        change = what_changed(divergence, spot)
        return Recognised(
            confidence="certain",
            summary=f"{place(divergence)[:1].upper()}{place(divergence)[1:]} is not as it was sent before: {change}.",
            advice="Treat the history as append-only: send what was sent, and put corrections into a new message. An "
            "edit on purpose costs one full read of everything behind it.",
            ruled_out=(
                *ruled_out(evidence),
                "white space, Unicode form or JSON order alone: the content differs",
                "a cut or a sliding window: the messages around it are in place",
            ),
        )
