"""An old tool result, or another long text of the history, that was cut or replaced by a placeholder."""

from __future__ import annotations

import re
from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.causes.spot import Spot, spot_of
from hitrate.explain.causes.wording import place, quoted
from hitrate.explain.evidence import Divergence, Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out

_PLACEHOLDER = lazy_pattern(
    r"removed|cleared|truncated|omitted|elided|pruned|trimmed|dropped|stripped|redacted|shortened|compacted|compressed|archived"
    r"|collapsed|stale|superseded|no longer|saved to|stored (?:in|at)|offloaded|output too l|expired|\[\.\.\.\]|…\s*\]"
    r"|entfernt|gekürzt|ausgelassen|gelöscht|weggelassen|verworfen|supprimé|tronqué|omis|effacé|retiré|eliminado|omitido|truncado|recortado"
    r"|removido|cortado|rimosso|troncato|omesso|verwijderd|ingekort|usunięt|skróco|удален|удалён|сокращ|обрезан|опущен|kaldırıldı|kısaltıldı"
    r"|削除|省略|切り詰め|已清除|已删除|已刪除|已省略|已截断|截斷|제거|생략|삭제|잘림|حذف|اقتطاع|हटा",
    re.IGNORECASE,
)


class ToolOutputPruned:
    name: ClassVar[str] = "tool-output-pruned"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "An old tool result was cut or replaced inside the history: a smaller prompt that costs more."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/anomalyco/opencode/issues/32515",
        "https://github.com/macanderson/stella/issues/3690",
        "https://github.com/Yeachan-Heo/gajae-code/issues/508",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence, spot = evidence.divergence, spot_of(evidence.divergence)
        if divergence is None or divergence.kind not in ("tool", "user", "assistant"):
            return None
        shorter = _is_shorter(divergence, spot)
        placeholder = shorter is not False and bool(_PLACEHOLDER.search(_near(divergence, spot)))
        of_tool = divergence.kind == "tool"
        if not placeholder and not (of_tool and shorter):
            return None
        if not of_tool and divergence.change not in (
            "text",
            "replaced",
            "block type",
            "suffix removed",
            "shortened",
            "list members",
        ):
            return None
        what = place(divergence)
        return Recognised(
            confidence="certain" if of_tool and placeholder else "likely",
            summary=f"{what[:1].upper()}{what[1:]} was {'replaced by' if placeholder else 'cut to'} "
            f"{quoted(_new_text(divergence, spot)) if _new_text(divergence, spot) else 'nothing'}{_sizes(evidence)}.",
            advice="Clear old results only when the history is rewritten anyway (a compaction), many at once, and not "
            "while the cache is warm; or cut a result before it is sent the first time. What is saved in size is paid "
            "back as a full read of everything behind it.",
            ruled_out=(
                *ruled_out(evidence),
                "a new run of the tool: the text got shorter" if shorter else "a cut alone",
            ),
        )


def _new_text(divergence: Divergence, spot: Spot | None) -> str:
    """What stands there now: the line that changed, or what was put there."""
    if spot is None:
        return divergence.value_now or divergence.now
    return spot.lines[1] if len(spot.lead) < 80 else spot.now


def _near(divergence: Divergence, spot: Spot | None) -> str:
    """Where a placeholder would stand: the line that changed, and what follows."""
    return _new_text(divergence, spot)[:400] + ("\n" + spot.now[:400] if spot is not None else "")


def _is_shorter(divergence: Divergence, spot: Spot | None) -> bool | None:
    """Whether the text got shorter; None where it is not known."""
    if divergence.change == "suffix removed":
        return True
    if divergence.change == "suffix added":
        return False
    if spot is not None and spot.now == "" and spot.was:
        return True
    if divergence.value_was is not None and divergence.value_now is not None:
        return 2 * len(divergence.value_now) < len(divergence.value_was)
    return True if divergence.value_now is not None and divergence.value_was is None else None


def _sizes(evidence: Evidence) -> str:
    before = evidence.before
    if before is None or not before.characters or not evidence.call.characters:
        return ""
    smaller = before.characters - evidence.call.characters
    if smaller <= 0 or not evidence.lost_tokens:
        return ""
    return f"; the prompt got {smaller:,} characters smaller, and {evidence.lost_tokens:,} tokens were read anew for it"
