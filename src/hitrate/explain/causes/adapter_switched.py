"""The conversation went on with another adapter (LoRA)."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.key_settings import ADAPTER, key_change, switched
from hitrate.explain.evidence import Evidence, Recognised


class AdapterSwitched:
    name: ClassVar[str] = "adapter-switched"
    verdict: ClassVar[Verdict] = "key_change"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "The conversation went on with another adapter; the attention state depends on it."
    reports: ClassVar[tuple[str, ...]] = ("https://github.com/vllm-project/vllm/issues/44701",)

    def recognise(self, evidence: Evidence) -> Recognised | None:
        found = key_change(evidence, ADAPTER)
        if not found:
            return None
        return switched(
            evidence,
            found,
            "The adapter",
            "Keep one adapter per conversation; where several have to read the same text, each keeps an entry of its "
            "own, so let calls of one adapter follow each other.",
        )
