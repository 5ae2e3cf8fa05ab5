"""The history was replaced by a summary of itself: one full read, often worth it."""

from __future__ import annotations

import re
from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.causes.pointers import message_index
from hitrate.explain.causes.wording import place, quoted
from hitrate.explain.evidence import Divergence, Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out

_SUMMARY = lazy_pattern(
    r"summar|being continued|conversation so far|previous conversation|earlier conversation|context (?:was"
    r"|has been) (?:compacted|reset)"
    r"|compact|handoff|hand-off|recap|zusammenfass|bisherige|résumé|resumen|resumo|riassunto|samenvatting|podsumowanie|streszczenie"
    r"|итог|краткое содержание|сводка|özet|要約|これまでの|摘要|总结|總結|概述|요약|지금까지|ملخص|सारांश",
    re.IGNORECASE,
)
_MUCH = 0.7
"""A compaction leaves less than this of the history behind the opening."""


class HistoryCompacted:
    name: ClassVar[str] = "history-compacted"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "observation"
    about: ClassVar[str] = (
        "The history was replaced by a summary of itself, so that the cache starts anew behind the opening."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/oguzbilgic/kern-ai/issues/296",
        "https://github.com/openai/codex/issues/37305",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence, before, call = evidence.divergence, evidence.before, evidence.call
        if divergence is None or divergence.kind in ("tools", "schema") or before is None:
            return None
        in_history = message_index(divergence.pointer) is not None
        said = any(one.kind == "compaction" for one in call.happenings)
        condensed = divergence.change == "messages condensed"
        shared = evidence.pair.shared_characters
        smaller = call.parts < before.parts and call.characters - shared < _MUCH * (before.characters - shared)
        summary = in_history and smaller and divergence.kind != "system" and _reads_as_summary(divergence)
        if not (said or condensed or summary):
            return None
        size = f" ({before.characters:,} characters became {call.characters:,})" if smaller else ""
        return Recognised(
            confidence="certain" if said else "likely",
            summary=f"The history was rewritten as a summary from {place(divergence)} on{size}: it now reads "
            f"{quoted(divergence.now)}.",
            advice="One full read is the price of a compaction: do it rarely and in one large step, best when the "
            "cache has run out anyway, and leave tools and system prompt as they were.",
            ruled_out=(
                *ruled_out(evidence),
                "an edit of one message: most of the history is gone" if smaller else "an edit",
            ),
        )


def _reads_as_summary(divergence: Divergence) -> bool:
    now = divergence.value_now if divergence.value_now is not None else divergence.front[-200:] + divergence.now
    return bool(_SUMMARY.search(now[:400]))
