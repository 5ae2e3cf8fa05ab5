"""The oldest messages fall out of the history, so that it starts with another message each time."""

from __future__ import annotations

import re
from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.causes.pointers import message_index
from hitrate.explain.causes.reasoning_not_replayed import reasoning_change
from hitrate.explain.causes.spot import spot_of
from hitrate.explain.causes.wording import place, repeats
from hitrate.explain.evidence import Divergence, Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out

_DROPPED_LINE = lazy_pattern(
    r"(?:earlier|older|previous|prior|frühere|ältere|précédents|anteriores).{0,30}(?:messages?|turns?|nachrichten|mensajes)?.{0,30}"
    r"(?:dropped|omitted|removed|truncated|trimmed|hidden|not shown|weggelassen|entfernt|ausgelassen|omis|supprimés"
    r"|omitidos)"
    r"|(?:dropped|omitted|removed|truncated|trimmed|省略|已省略|已删除).{0,40}(?:messages?|turns?|消息|メッセージ|件)",
    re.IGNORECASE,
)
"""A line that tells the model how much of the history is missing."""


_MOST_PINNED = 3
"""Messages that windows keep in front: system prompt, first question, its answer."""


class SlidingWindow:
    name: ClassVar[str] = "sliding-window"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "The oldest messages drop out at the front, so the history begins with another message."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/HKUDS/nanobot/issues/4568",
        "https://github.com/oguzbilgic/kern-ai/issues/296",
        "https://github.com/ltmoerdani/opencode-copilot-chat/issues/238",
        "https://github.com/NousResearch/hermes-agent/issues/55421",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence = evidence.divergence
        if divergence is None or divergence.kind in ("tools", "schema") or _is_reasoning(divergence):
            return None
        shift = evidence.pair.shift
        dropped = divergence.change == "messages dropped" and _at_the_front(evidence)
        noted = divergence.change == "messages condensed" and bool(_DROPPED_LINE.search(divergence.now))
        moved = shift > 0 and _in_text(divergence) and _at_the_front(evidence)
        if not (dropped or noted or moved or _counts_dropped(divergence)):
            return None
        shift = shift or (len(divergence.names) if dropped else 0)
        again = sum(past.change in ("messages dropped", divergence.change) for past in evidence.lineage)
        count = f"by {shift} message{'s' if shift > 1 else ''}" if shift > 0 else "by some messages"
        return Recognised(
            confidence="certain" if shift > 0 and (dropped or again) else "likely",
            summary=f"The start of the history moved {count}: the oldest ones were dropped in front of "
            f"{place(divergence)}" + (f", as in {again} call{'s' if again > 1 else ''} before." if again else "."),
            advice="Let the start of the window move in large steps: drop half of the history at once and rarely, so "
            "that it stays put in between. Each step costs one full read, so fewer and larger ones are cheaper.",
            ruled_out=(*ruled_out(evidence), "an edit of one message: the messages behind it moved up unchanged"),
        )


def _at_the_front(evidence: Evidence) -> bool:
    """Whether the history's start is what moved: no more stands in front than a system prompt, a task, its answer."""
    divergence = evidence.divergence
    index = message_index(divergence.pointer) if divergence is not None else None
    return index is not None and (index <= _MOST_PINNED or repeats(evidence) > 0)


def _is_reasoning(divergence: Divergence) -> bool:
    """Whether the one item that is gone, or the first of several between which others stay, is a model's reasoning."""
    single = len(divergence.names) == 1 or divergence.change != "messages dropped"
    return divergence.offset is None and single and reasoning_change(divergence) == "removed"


def _in_text(divergence: Divergence) -> bool:
    return message_index(divergence.pointer) is not None and divergence.change in (
        "text",
        "replaced",
        "shortened",
        "list members",
        "block type",
        "role",
    )


def _counts_dropped(divergence: Divergence) -> bool:
    """The number in a line like "[12 earlier messages were dropped]" changed."""
    spot = spot_of(divergence)
    if spot is None or spot.numbers is None:
        return False
    return all(_DROPPED_LINE.search(line) for line in spot.lines)
