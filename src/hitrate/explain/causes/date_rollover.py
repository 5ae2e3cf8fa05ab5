"""A calendar date in front of the history that moved on to a new day."""

from __future__ import annotations

from typing import ClassVar, Literal

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.causes.clock_in_prefix import MOMENT_LABEL
from hitrate.explain.causes.moments import DAY_S, Moment, days_between, near, seconds_between
from hitrate.explain.causes.spot import Spot, spot_of
from hitrate.explain.causes.wording import place, quoted
from hitrate.explain.evidence import Evidence, Recognised
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.signs import duration, gap_s


class DateRollover:
    name: ClassVar[str] = "date-rollover"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "A date in front of the history changed at midnight, while the prefix was still cached."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/anomalyco/opencode/issues/32622",
        "https://github.com/zeroclaw-labs/zeroclaw/issues/10858",
        "https://github.com/OpenBMB/PilotDeck/issues/571",
        "https://github.com/NousResearch/hermes-agent/issues/86938",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence, spot = evidence.divergence, spot_of(evidence.divergence)
        pair = spot.moments if spot is not None else None
        if divergence is None or spot is None or pair is None:
            return None
        was, now = pair
        confidence = _confidence(evidence, spot, was, now)
        if confidence is None:
            return None
        gap = gap_s(evidence.before, evidence.call)
        between = "" if gap is None else f", {duration(gap)} after the call before"
        return Recognised(
            confidence=confidence,
            summary=f"The date in {place(divergence)} went from {quoted(was.text)} to {quoted(now.text)}{between}.",
            advice="Keep the date of the session's start in the prompt and announce a new day in the newest message: a "
            "frozen date alone would be wrong after midnight, a rewritten one costs the whole prefix once a day and "
            "session.",
            ruled_out=(*ruled_out(evidence), "a clock: no time of day changed with it"),
        )


def _confidence(
    evidence: Evidence, spot: Spot, was: Moment, now: Moment
) -> Literal["certain", "likely", "possible"] | None:
    """By whether the date moved as many days as passed between the calls; without their times, by a day or a label."""
    days = days_between(was, now)
    if (
        not days
        or days < 0
        or not (was.has_date and now.has_date)
        or seconds_between(was, now) not in (None, days * DAY_S)
    ):
        return None
    labelled = bool(MOMENT_LABEL.search(spot.label(was.text)[-60:]))
    gap = gap_s(evidence.before, evidence.call)
    if gap is None:
        if evidence.call.at is not None and near(now, evidence.call.at):
            return "likely"
        return "likely" if labelled and days <= 31 else "possible" if days == 1 else None
    if evidence.call.at is not None and now.dates and near(now, evidence.call.at):
        return "certain" if abs(days - gap / DAY_S) <= 1 else "likely"
    if not labelled:
        return None
    return "likely" if abs(days - gap / DAY_S) <= 1 else "possible" if days <= 31 else None
