"""Other text of the system prompt that changed: an edited instruction, another mode, a block that came or went."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.pointers import message_index
from hitrate.explain.causes.sections import stands_in_system
from hitrate.explain.causes.spot import spot_of
from hitrate.explain.causes.wording import place, what_changed
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out


class SystemTextChanged:
    name: ClassVar[str] = "system-text-changed"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "The text of the system prompt changed inside a session, in a way that fits no more particular cause."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/zed-industries/zed/issues/63808",
        "https://github.com/VicBilibily/GCMP/issues/170",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence, spot = evidence.divergence, spot_of(evidence.divergence)
        if divergence is None or not stands_in_system(divergence, spot):
            return None
        if divergence.change == "role" and (message_index(divergence.pointer) or 0) > 0:
            return None
        change = what_changed(divergence, spot)
        return Recognised(
            confidence="certain",
            summary=f"The text of {place(divergence)} changed: {change}.",
            advice="Build the system prompt once a session and send it unchanged; say what is new (another mode, "
            "another rule) in the newest message.",
            ruled_out=(
                *ruled_out(evidence),
                "a clock, a date, an id, a counter or a name: the value is none of these",
                "white space or another form of the same text: other characters changed",
            ),
        )
