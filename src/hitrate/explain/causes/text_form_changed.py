"""The same text with other white space, in another Unicode form or in another letter case."""

from __future__ import annotations

import re
from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.pointers import message_index
from hitrate.explain.causes.wording import place, quoted
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out

_WHAT = {
    "white space": ("white space", "trim or reflow only what is shown to people"),
    "unicode form": ("Unicode form", "normalise text once, when it is received, or never"),
    "letter case": ("letter case", "keep the case as it was written"),
}

_WIDTHLESS = "\u00ad\u180e\u200b-\u200d\u2060\ufeff"
_START = {
    "white space": re.compile(rf"[\s{_WIDTHLESS}]*[^\s{_WIDTHLESS}]{{0,12}}"),
    "unicode form": re.compile(r"\S{0,12}"),
    "letter case": re.compile(r"\S{0,24}"),
}
"""How much of either side is worth showing."""


class TextFormChanged:
    name: ClassVar[str] = "text-form-changed"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "The same text comes with other white space, in another Unicode form or letter case."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/antirez/ds4/issues/985",
        "https://github.com/Luce-Org/lucebox/issues/151",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence = evidence.divergence
        if divergence is None or divergence.change not in _WHAT:
            return None
        what, keep = _WHAT[divergence.change]
        forms = divergence.change == "unicode form"
        shown = [_START[divergence.change].match(side) for side in (divergence.was, divergence.now)]
        sides = [quoted(side.group(), forms=forms) if side and side.group() else "nothing" for side in shown]
        replayed = message_index(divergence.pointer) is not None
        again = (
            "Send earlier texts again byte for byte" if replayed else "Render the prompt to the same bytes each time"
        )
        return Recognised(
            confidence="certain",
            summary=f"Only the {what} changed in {place(divergence)}: {sides[0]} became {sides[1]}.",
            advice=f"{again}; {keep}.",
            ruled_out=(*ruled_out(evidence), f"other content: but for {what}, both sides are equal"),
        )
