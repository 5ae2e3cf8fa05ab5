"""The same text with other white space, in another Unicode form or in another letter case."""

from __future__ import annotations

import re
from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.causes.pointers import message_index
from hitrate.explain.causes.wording import place, quoted
from hitrate.explain.evidence import Divergence, Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out

_WHAT = {
    "white space": ("white space", "trim or reflow only what is shown to people"),
    "without width": ("characters without width", "strip such characters once, when text is received, or never"),
    "unicode form": ("Unicode form", "normalise text once, when it is received, or never"),
    "letter case": ("letter case", "keep the case as it was written"),
}

_WIDTHLESS = "\u00ad\u180e\u200b-\u200d\u2060\ufeff"
_START = {
    "white space": lazy_pattern(rf"[\s{_WIDTHLESS}]*[^\s{_WIDTHLESS}]{{0,12}}"),
    "unicode form": lazy_pattern(r"\S{0,12}"),
    "letter case": lazy_pattern(r"\S{0,24}"),
}
"""How much of either side is worth showing."""


def _only_without_width(divergence: Divergence) -> bool:
    """Whether what differs is no white space at all: a zero-width space, a byte-order mark, a soft hyphen."""
    sides = (divergence.rest_was or divergence.was, divergence.rest_now or divergence.now)
    was, now = (re.sub(f"[{_WIDTHLESS}]", "", side) for side in sides)
    shorter = min(len(was), len(now))
    cut = shorter > _SURELY_CUT
    return divergence.change == "white space" and (was[:shorter] == now[:shorter] if cut else was == now)


_SURELY_CUT = 1000
"""Code points of what is kept of a text that goes on."""


class TextFormChanged:
    name: ClassVar[str] = "text-form-changed"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "The same text comes with other white space or characters without width, in another Unicode form or in "
        "another letter case."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/antirez/ds4/issues/985",
        "https://github.com/Luce-Org/lucebox/issues/151",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence = evidence.divergence
        if divergence is None or divergence.change not in _WHAT:
            return None
        what, keep = _WHAT["without width" if _only_without_width(divergence) else divergence.change]
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
