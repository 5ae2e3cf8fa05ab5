"""A header that switches protocol features on was changed in the middle of a conversation."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.key_settings import BETA, key_change, switched
from hitrate.explain.evidence import Evidence, Recognised


class BetaHeaderChanged:
    name: ClassVar[str] = "beta-header-changed"
    verdict: ClassVar[Verdict] = "key_change"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "A header that switches features on (anthropic-beta) was changed; it can change what is put before the model."
    )
    reports: ClassVar[tuple[str, ...]] = ("https://github.com/cnighswonger/claude-code-cache-fix/pull/280",)

    def recognise(self, evidence: Evidence) -> Recognised | None:
        found = key_change(evidence, BETA, among_others=True)
        if not found:
            return None
        return switched(
            evidence,
            found,
            f"The header {found[0].pointer.strip('/').rstrip(':')}",
            "Send the same set of features, in the same order, with every request of a conversation.",
        )
