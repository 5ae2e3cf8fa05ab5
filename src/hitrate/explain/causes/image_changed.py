"""An image of the history that was encoded again, replaced by text or taken out."""

from __future__ import annotations

import re
from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.causes.wording import change_in_words, place
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out

_IMAGE = lazy_pattern(
    r"image|inline_?data|inlineData|file_?data|fileData|media|input_file|document|audio|video", re.IGNORECASE
)


class ImageChanged:
    name: ClassVar[str] = "image-changed"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "An image in the history was encoded again, replaced by text, or stripped."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/anthropics/claude-code/issues/91705",
        "https://github.com/Automattic/studio/issues/4868",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence = evidence.divergence
        if divergence is None or divergence.kind in ("tools", "schema"):
            return None
        of_type = divergence.change in (
            "block type",
            "list members",
            "replaced",
            "member removed",
            "member added",
        ) and any(_IMAGE.search(side) for side in (*divergence.names, divergence.was[:80], divergence.now[:80]))
        if divergence.change != "image" and divergence.kind != "image" and not (of_type and divergence.offset is None):
            return None
        return Recognised(
            confidence="certain",
            summary=f"An image sent before is not the same in {place(divergence)}: {change_in_words(divergence)}.",
            advice="Keep image blocks in the history byte for byte; once cached they are cheap, and replacing one "
            "makes everything behind it new. If they have to go, take several out at once, when the history is "
            "rewritten anyway.",
            ruled_out=(*ruled_out(evidence), "the text around it: it agrees up to the image"),
        )
