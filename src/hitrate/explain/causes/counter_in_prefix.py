"""A number in front of the history that changes from call to call: turns, tokens left, versions of something."""

from __future__ import annotations

import re
from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.causes.shapes import number
from hitrate.explain.causes.spot import Spot, spot_of
from hitrate.explain.causes.wording import place, quoted, repeats
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out

_INSIDE_NUMBER = lazy_pattern(r"\d[-:]\Z")
_INSIDE_WORD = lazy_pattern(r"[A-Za-z]\Z")


class CounterInPrefix:
    name: ClassVar[str] = "counter-in-prefix"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "A number that changes from call to call stands in front of text that was sent before."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/OpenMinis/OpenMinis/issues/357",
        "https://github.com/HKUDS/nanobot/issues/4568",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence, spot = evidence.divergence, spot_of(evidence.divergence)
        values = spot.numbers if spot is not None else None
        if divergence is None or spot is None or values is None or spot.moments or _is_part(evidence, spot, values):
            return None
        was, now = values
        value_was, value_now = number(was), number(now)
        if value_was is None or value_now is None or value_was == value_now or not spot.goes_on_alike(was, now):
            return None
        seen = repeats(evidence)
        again = f"; it changed at this place {seen + 1} times" if seen else ""
        return Recognised(
            confidence="certain" if seen else "likely",
            summary=f"The number{_named(spot, was)} in {place(divergence)} changed from {quoted(was)} to {quoted(now)}"
            f"{again}.",
            advice="Leave running numbers out of text that is meant to stay, or put them into the newest message, "
            "where they cost only themselves.",
            ruled_out=(
                *ruled_out(evidence),
                "a clock, a date or an id: the value is a plain number",
                "other text: what follows the number is unchanged",
            ),
        )


def _is_part(evidence: Evidence, spot: Spot, values: tuple[str, str]) -> bool:
    """Whether the number is a part of a longer one, as a telephone number, or of a word, as in H2O; one at the end of a
    word, as in v2, is a release, unless it was seen to run on."""
    label = spot.label(values[0])
    behind = spot.lines[0][len(label) + len(values[0]) :]
    in_word = bool(_INSIDE_WORD.search(label)) and (bool(re.match("[A-Za-z]", behind)) or not repeats(evidence))
    return in_word or bool(_INSIDE_NUMBER.search(label))


def _named(spot: Spot, was: str) -> str:
    label = spot.label(was).strip().rstrip(":=：")[-40:].strip()
    return f" behind {quoted(label)}" if label else ""
