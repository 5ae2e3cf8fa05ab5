"""tool_choice was changed where it is part of the key of the messages."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.key_settings import TOOL_CHOICE, key_change, switched
from hitrate.explain.evidence import Evidence, Recognised

_COUNTS_ON = frozenset({"anthropic-messages", "bedrock-converse"})
"""https://platform.claude.com/docs/en/build-with-claude/prompt-caching, "What invalidates the cache": the messages."""


class ToolChoiceChanged:
    name: ClassVar[str] = "tool-choice-changed"
    verdict: ClassVar[Verdict] = "key_change"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "tool_choice was changed: at Anthropic the messages are read anew, elsewhere a template may drop the tools."
    )
    reports: ClassVar[tuple[str, ...]] = ()

    def recognise(self, evidence: Evidence) -> Recognised | None:
        found = key_change(evidence, TOOL_CHOICE, among_others=True)
        if not found:
            return None
        said = switched(
            evidence,
            found,
            "tool_choice",
            "Keep tool_choice the same through a conversation and ask for a tool in the newest message instead; at "
            'OpenAI, {"type": "allowed_tools"} narrows the tools without a miss.',
        )
        if evidence.call.dialect in _COUNTS_ON:
            return said
        return Recognised(
            confidence="possible",
            summary=f"tool_choice changed from {said.was or 'nothing'} to {said.now or 'nothing'}; engines that leave "
            "the tools out of the prompt for some values read everything behind them anew.",
            advice=said.advice,
            ruled_out=said.ruled_out,
            pointer=said.pointer,
            was=said.was,
            now=said.now,
        )
