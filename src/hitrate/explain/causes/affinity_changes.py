"""The value that should keep a conversation on one machine is another one in each request."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Evidence, Recognised, Seen
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.signs import lost_in_conversation, shown, steps, warm_by_time, was_hit


class AffinityChanges:
    name: ClassVar[str] = "affinity-value-changes"
    verdict: ClassVar[Verdict] = "routing"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "The session key that keeps a conversation on one machine has another value in each request."
    reports: ClassVar[tuple[str, ...]] = ("https://github.com/BerriAI/litellm/issues/42014",)

    def recognise(self, evidence: Evidence) -> Recognised | None:
        before, call = evidence.before, evidence.call
        if before is None or call.affinity is None or before.affinity is None or call.affinity == before.affinity:
            return None
        if lost_in_conversation(evidence) is None or warm_by_time(evidence) or _served_all_the_same(evidence):
            return None
        pointer = _place(call)
        return Recognised(
            confidence="likely",
            summary=f"The session key{f' {pointer}' if pointer else ''} changed inside the conversation, so the "
            "request may have gone to a machine that does not hold its history; the text is the same.",
            advice="Derive the session key from the conversation (one value from its first call to its last), not from "
            "the request.",
            ruled_out=ruled_out(evidence),
            pointer=pointer,
            was=before.affinity,
            now=call.affinity,
        )


def _served_all_the_same(evidence: Evidence) -> bool:
    """Whether calls of this conversation were hits although the value had changed before them."""
    return any(
        before.affinity != call.affinity and was_hit(before, call, evidence.facts) for before, call in steps(evidence)
    )


def _place(call: Seen) -> str | None:
    settings = (*call.key, *call.others)
    return next((one.pointer for one in settings if shown(one.value) == call.affinity), None)
