"""A task list, memory, git status or another state that is rendered anew into the system prompt."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.sections import section_of, stands_in_system
from hitrate.explain.causes.spot import spot_of
from hitrate.explain.causes.wording import both_sides, place, quoted
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out


class StateInSystem:
    name: ClassVar[str] = "state-in-system"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "State that the work itself changes (tasks, memory, git, files) is rendered into the system prompt."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/vstorm-co/pydantic-ai-todo/issues/41",
        "https://github.com/avante-corp/avante.nvim/issues/2489",
        "https://github.com/anthropics/claude-code/issues/47107",
        "https://github.com/omdsh-dev/dsh-mnemon/issues/26",
        "https://github.com/jayzeng/pi-memory/issues/12",
        "https://github.com/rohitg00/agentmemory/issues/720",
        "https://github.com/zed-industries/zed/issues/63808",
        "https://github.com/Hmbown/Codewhale/issues/979",
        "https://github.com/OpenMinis/OpenMinis/issues/357",
        "https://github.com/shareAI-lab/learn-claude-code/issues/311",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence, spot = evidence.divergence, spot_of(evidence.divergence)
        if divergence is None or spot is None or stands_in_system(divergence, spot) is False:
            return None
        section = section_of(spot)
        if section is None or section.kind != "state":
            return None
        return Recognised(
            confidence="certain" if section.shown_by_content else "likely",
            summary=f"State under {quoted(section.label)} in {place(divergence)} changed: {both_sides(spot)}.",
            advice="Leave the system prompt as it was and append the new state to the tool result that changed it, or "
            "to the newest message; render it into the system prompt only when a session starts.",
            ruled_out=(*ruled_out(evidence), "a clock, a date or an id: the value is none of these"),
        )
