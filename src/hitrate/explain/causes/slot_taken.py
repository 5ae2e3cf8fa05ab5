"""Another prompt took the slot that held the conversation's state."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.server import has_slots, slots, without_host_cache
from hitrate.explain.signs import last_touch, lost_in_conversation, warm_by_time


class SlotTaken:
    name: ClassVar[str] = "slot-taken"
    verdict: ClassVar[Verdict] = "engine"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "Another prompt (a title, another conversation) took the engine's slot between two turns."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/open-webui/open-webui/issues/6677",
        "https://github.com/mlhher/late-cli/issues/8",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        facts, call = evidence.facts, evidence.call
        if not has_slots(facts) or lost_in_conversation(evidence) is None or warm_by_time(evidence):
            return None
        touched = last_touch(evidence)
        others = [
            one
            for one in evidence.between
            if one.conversation != call.conversation and one.answered and (touched is None or one.index > touched.index)
        ]
        held = slots(facts)
        conversations = {one.conversation for one in others}
        if not others or (held is not None and len(conversations) < held):
            return None
        off = without_host_cache(facts)
        sure = held is not None and off is True
        first = others[0]
        name = first.label or first.session
        taken = f"request {first.index}{f' ({name})' if name else ''}"
        count = "the only slot" if held == 1 else f"all {held} slots" if held else "its slot"
        store = ", and the host-memory store of displaced prompts is off" if off else ""
        return Recognised(
            confidence="certain" if sure else "likely" if held is not None else "possible",
            summary=f"Between request {evidence.before.index if evidence.before else '?'} and this one "
            f"{len(conversations)} other prompt{'s' if len(conversations) > 1 else ''}, first {taken}, used "
            f"{count}{store}; the conversation's state was overwritten.",
            advice="Give the server one slot more than there are conversations (--parallel) or a host-memory store "
            "(--cache-ram), pin conversations with id_slot, or send side requests such as titles to another model.",
            ruled_out=ruled_out(evidence),
        )
