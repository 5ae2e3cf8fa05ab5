"""The engine was started anew between two turns."""

from __future__ import annotations

import re
from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.server import first_line
from hitrate.explain.signs import lost_in_conversation, served_nothing, warm_by_time

_RESTARTED = lazy_pattern(
    r"restart|crash|out of memory|\boom\b|killed|segmentation fault|unload|reload(?:ed|ing)? (?:the )?model|"
    r"keep.?alive expired|reset_prefix_cache|flush(?:ed|ing)? (?:the )?cache|cache (?:was )?(?:flushed|reset|cleared)",
    re.IGNORECASE,
)


class EngineRestarted:
    name: ClassVar[str] = "engine-restarted"
    verdict: ClassVar[Verdict] = "engine"
    voice: ClassVar[Voice] = "observation"
    about: ClassVar[str] = "The engine was restarted, its model unloaded or its cache emptied between two turns."
    reports: ClassVar[tuple[str, ...]] = ("https://github.com/ollama/ollama/blob/main/docs/faq.mdx",)

    def recognise(self, evidence: Evidence) -> Recognised | None:
        if lost_in_conversation(evidence) is None or not served_nothing(evidence.call) or warm_by_time(evidence):
            return None
        line = first_line(evidence.facts.server, _RESTARTED)
        if line is None:
            return None
        return Recognised(
            confidence="likely",
            summary=f"Nothing was left of the conversation's state, and the engine's own log says \"{line}\".",
            advice="Keep the model loaded (at Ollama OLLAMA_KEEP_ALIVE or keep_alive), or save and restore the slot "
            "around a restart (llama-server --slot-save-path).",
            ruled_out=ruled_out(evidence),
        )
