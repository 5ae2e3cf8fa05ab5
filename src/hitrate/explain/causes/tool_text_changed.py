"""Text of a tool definition that changed under the same name: a live description, a default, an enum."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.pointers import in_description
from hitrate.explain.causes.spot import spot_of
from hitrate.explain.causes.wording import place, what_changed
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out


class ToolTextChanged:
    name: ClassVar[str] = "tool-text-changed"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "A tool's definition (description, default, list of values) is rendered anew with other text."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/lvlup-sw/exarchos/issues/1815",
        "https://github.com/rynfar/meridian/issues/367",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence, spot = evidence.divergence, spot_of(evidence.divergence)
        if divergence is None or divergence.kind != "tools":
            return None
        what = "A description" if in_description(divergence.pointer) else "The text"
        change = what_changed(divergence, spot)
        return Recognised(
            confidence="certain",
            summary=f"{what} in {place(divergence)} changed: {change}.",
            advice="Keep live values (lists of files, agents, users, states) out of tool definitions: fix the text "
            "when the session starts and give what is current in a message or as the result of a call.",
            ruled_out=(*ruled_out(evidence), "another order of tools or members: the text itself differs"),
        )
