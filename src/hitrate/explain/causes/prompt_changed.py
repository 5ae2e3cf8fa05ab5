"""Any other change of the prompt's text, so that no break stays without a name."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.spot import spot_of
from hitrate.explain.causes.wording import place, what_changed
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out


class PromptChanged:
    name: ClassVar[str] = "prompt-changed"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "The prompt's text changed in front of what was sent before; no known cause fits."
    reports: ClassVar[tuple[str, ...]] = ("https://github.com/anthropics/claude-code/issues/90953",)

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence, spot = evidence.divergence, spot_of(evidence.divergence)
        if divergence is None:
            return None
        change = what_changed(divergence, spot)
        return Recognised(
            confidence="certain",
            summary=f"The prompt changed in {place(divergence)}: {change}.",
            advice="Find what renders this place, and render it once; whatever has to change belongs behind the text "
            "that stays.",
            ruled_out=ruled_out(evidence),
        )
