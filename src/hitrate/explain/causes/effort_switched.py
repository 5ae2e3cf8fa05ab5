"""Reasoning effort, thinking or verbosity was changed in the middle of a conversation."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.key_settings import EFFORT, key_change, switched
from hitrate.explain.evidence import Evidence, Recognised


class EffortSwitched:
    name: ClassVar[str] = "effort-switched"
    verdict: ClassVar[Verdict] = "key_change"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "Reasoning effort, thinking or verbosity was changed in the middle of a conversation."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/openai/codex/issues/35416",
        "https://github.com/MiaAI-Lab/DeepSeek-v4-Flash-DSpark-2x-DGX-Spark/issues/144",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        found = key_change(evidence, EFFORT)
        if not found:
            return None
        return switched(
            evidence,
            found,
            f"The setting {found[0].pointer}",
            "Choose it per conversation, or accept one full read when it changes and show the price before the switch; "
            "going back to a known value is free while its entry lives.",
        )
