"""A chat template that prints the end of a prompt in one way and the same place in history in another."""

from __future__ import annotations

import re
from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.causes.spot import Spot, spot_of
from hitrate.explain.causes.wording import place, quoted
from hitrate.explain.evidence import Divergence, Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out

_ROLE_MARK = lazy_pattern(
    r"<\|im_(?:start|end|middle|sep)\|>|<\|(?:start_header_id|end_header_id|eot_id|eom_id)\|>|<(?:start|end)_of_turn>|<\|?turn\|?>"
    r"|\[/?INST\]|\[/?SYSTEM_PROMPT\]|\[(?:AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]|<\|(?:system|user|assistant|observation|end|start|message|channel|return|call)\|>"
    r"|<｜(?:User|Assistant|begin▁of▁sentence|end▁of▁sentence|tool▁\w+)｜>|<\|(?:START|END)_[A-Z_]+\|>|<\|(?:header_start|header_end|eot)\|>|</?s>"
)
_THINK = lazy_pattern(
    r"\s*(?:</?think(?:ing)?>|\[/?THINK\]|<\|/?think\|?>|<\|channel\|?>|◁/?think▷|</?reasoning>|</?seed:think>)"
)
_ANSWER_OPENED = lazy_pattern(
    r"(?:<\|im_start\|>assistant|<\|start_header_id\|>assistant<\|end_header_id\|>|<start_of_turn>model|<\|turn>model|<\|assistant\|>"
    r"|<｜Assistant｜>|\[/INST\]|<\|start\|>assistant|<\|header_start\|>assistant<\|header_end\|>|<\|CHATBOT_TOKEN\|>)\s*\Z"
)
_HALF_MARK = lazy_pattern(r"<[|｜]?[^<>\s]{0,24}\Z|\[/?[A-Z_]{0,16}\Z")
"""The start that two markers which differ share, as `<|e` of two ends of a turn."""

_TEMPLATE_DATE = lazy_pattern(
    r"(?:Today Date|Current date|Cutting Knowledge Date|Knowledge cutoff)\W*[^\n]{0,30}\Z", re.IGNORECASE
)


class TemplateDrift:
    name: ClassVar[str] = "template-drift"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "The chat template prints the newest turn otherwise than the same turn in history."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/nibor1896/Crow/issues/60",
        "https://github.com/jundot/omlx/issues/3608",
        "https://github.com/ml-explore/mlx-lm/issues/1803",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence, spot = evidence.divergence, spot_of(evidence.divergence)
        if divergence is None or spot is None or not _is_rendered(divergence, spot):
            return None
        what = _what(spot)
        if what is None:
            return None
        return Recognised(
            confidence="certain" if what != _NEXT_TO_MARK else "likely",
            summary=f"The template {what} in {place(divergence)}: {quoted(spot.was) if spot.was else 'nothing'} became "
            f"{quoted(spot.now) if spot.now else 'nothing'}.",
            advice="Use a template that prints the same text for a turn when it is the newest and when it is history "
            "(the think block, the tools, the date), or switch that block off on both sides; a date can be fixed by "
            "the template's argument.",
            ruled_out=(*ruled_out(evidence), "an edit of the messages: what differs is text that the template adds"),
        )


_NEXT_TO_MARK = "prints other role markers, or other white space around them"


def _what(spot: Spot) -> str | None:
    if _THINK.match(spot.was) or _THINK.match(spot.now) or re.search(r"</?think[^>]*\Z", spot.lead):
        return "prints a think block at one time and not at another"
    if _TEMPLATE_DATE.search(spot.lead):
        return "prints the present date into the prompt"
    opened = _ANSWER_OPENED.search(spot.front[-120:])
    if opened and len(spot.was) < 40 and not _ROLE_MARK.search(spot.was) and not spot.now.startswith(spot.was):
        return "opens the answer with text that is missing in history"
    if spot.lead.endswith(("<|channel|>", "<|channel>")):
        return "keeps another channel in history than it opened"
    half = _HALF_MARK.search(spot.lead)
    sides = [(half.group() if half else "") + side for side in (spot.was, spot.now)]
    if any(side.startswith("[AVAILABLE_TOOLS]") for side in sides):
        return "prints the tools in front of the newest turn"
    marks = [_ROLE_MARK.match(side.lstrip()) for side in sides]
    return _NEXT_TO_MARK if all(marks) else None


def _is_rendered(divergence: Divergence, spot: Spot) -> bool:
    """Whether the prompt is text with role markers in it, as a template renders it."""
    return divergence.pointer.count("/") == 1 and bool(_ROLE_MARK.search(spot.front + spot.was + spot.now))
