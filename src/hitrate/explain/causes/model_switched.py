"""The conversation went on with another model."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.key_settings import MODEL, key_change, switched
from hitrate.explain.evidence import Evidence, Recognised


class ModelSwitched:
    name: ClassVar[str] = "model-switched"
    verdict: ClassVar[Verdict] = "key_change"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "The conversation went on with another model; each model has a cache of its own."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/anthropics/claude-code/issues/48087",
        "https://github.com/MoonshotAI/kimi-code/pull/1763",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        found = key_change(evidence, MODEL)
        if not found:
            return None
        return switched(
            evidence,
            found,
            "The model",
            "Choose the model per conversation, or accept one full read at each switch and show its price before it; "
            "going back to a model whose entry still lives costs nothing.",
        )
