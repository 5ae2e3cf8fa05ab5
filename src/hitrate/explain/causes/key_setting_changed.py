"""Another setting that is known to be part of the key was changed."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.key_settings import NAMED, key_change, switched
from hitrate.explain.evidence import Evidence, Recognised


class KeySettingChanged:
    name: ClassVar[str] = "key-setting-changed"
    verdict: ClassVar[Verdict] = "key_change"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "Another setting that separates cache entries was changed: template arguments, an image's detail."
    )
    reports: ClassVar[tuple[str, ...]] = ("https://github.com/ml-explore/mlx-lm/issues/1803",)

    def recognise(self, evidence: Evidence) -> Recognised | None:
        found = key_change(evidence, None, NAMED)
        if not found:
            return None
        return switched(
            evidence,
            found,
            f"The setting {found[0].pointer}",
            "Keep it the same through a conversation, or accept one full read when it changes.",
        )
