"""Reasoning of earlier answers that is dropped, added or rebuilt when the history is sent again."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from hitrate.core.findings import Verdict, Voice
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.causes.pointers import in_reasoning_summary, message_index, names_reasoning
from hitrate.explain.causes.wording import change_in_words, place
from hitrate.explain.evidence import Divergence, Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out

_THINK_TAG = lazy_pattern(
    r"\s*(?:<(?:think|thinking|thought|reasoning)>|\[THINK\]|<\|channel\|?>\s*(?:analysis|thought)|◁think▷|<seed:think>)"
)
_TYPES = lazy_pattern(r"(?:redacted_)?thinking|reasoning\w*|thought\w*|summary_text", re.IGNORECASE)


class ReasoningNotReplayed:
    name: ClassVar[str] = "reasoning-not-replayed"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "The reasoning of an earlier answer was dropped, added or rebuilt when the history was sent again."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/Hmbown/Codewhale/issues/1297",
        "https://github.com/nibor1896/Crow/issues/60",
        "https://github.com/Alishahryar1/free-claude-code/issues/1126",
        "https://github.com/BerriAI/litellm/issues/40288",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence = evidence.divergence
        if (
            divergence is None
            or message_index(divergence.pointer) is None
            or divergence.kind not in ("assistant", "user")
        ):
            return None
        what = reasoning_change(divergence)
        if what is None:
            return None
        confidence: Literal["certain", "likely"] = "likely" if what == "changed" else "certain"
        return Recognised(
            confidence=confidence,
            summary=f"The reasoning of an earlier answer was {what} in {place(divergence)}: "
            f"{change_in_words(divergence)}.",
            advice="Decide once for each answer: send its reasoning again for good, byte for byte and with its "
            "signature or encrypted part, or never send it. Keeping it costs its tokens at the cached price, dropping "
            "it later costs everything behind it.",
            ruled_out=(*ruled_out(evidence), "the answer itself: what differs first is its reasoning"),
        )


def reasoning_change(divergence: Divergence) -> str | None:
    """ "removed", "added" or "changed", by which side still has the reasoning; None where it is no reasoning."""
    if divergence.offset is None:
        was, now = (side.removeprefix("member ").removeprefix("type ") for side in (divergence.was, divergence.now))
        had, has = _is_reasoning(was), _is_reasoning(now)
        if not had and not has:
            named = [name for name in divergence.names if names_reasoning(name)]
            if not named:
                return "changed" if _lies_in_reasoning(divergence.pointer) else None
            return {"member removed": "removed", "member added": "added"}.get(divergence.change, "changed")
        return "changed" if had and has else "removed" if had else "added"
    if _lies_in_reasoning(divergence.pointer):
        return "removed" if not divergence.now else "added" if not divergence.was else "changed"
    had, has = (bool(_THINK_TAG.match(side)) for side in (divergence.was, divergence.now))
    return None if had == has else "removed" if had else "added"


def _is_reasoning(side: str) -> bool:
    return bool(
        _TYPES.fullmatch(side.strip().strip('"')) or (len(side) < 80 and names_reasoning(side) and " " not in side)
    )


def _lies_in_reasoning(pointer: str) -> bool:
    """Whether a member of the message on the way is one, as in /messages/2/reasoning_details/0/text."""
    members = [name for name in pointer.split("/")[3:] if not name.isdecimal()]
    return in_reasoning_summary(pointer) or names_reasoning("/".join(members))
