"""A time of day, a Unix time or an age that is rendered anew into text in front of the history."""

from __future__ import annotations

import re
from math import gcd
from typing import ClassVar, Literal

from hitrate.core.findings import Verdict, Voice
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.causes.moments import DAY_S, Moment, moments, near, seconds_between
from hitrate.explain.causes.spot import Spot, spot_of
from hitrate.explain.causes.wording import place, quoted
from hitrate.explain.evidence import Divergence, Evidence, Recognised, Seen
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.signs import gap_s

MOMENT_LABEL = lazy_pattern(
    r"time|clock|\bnow\b|today|\bdate|as of|generated|current|started|session|uptime|\bday\b"
    r"|uhr|zeit|heute|stand\b|datum|jetzt|heure|maintenant|aujourd|nous sommes|hora|fecha|ahora|\bhoy\b|agora|\bhoje"
    r"|\bdata\b"
    r"|\bora\b|oggi|adesso|vandaag|\bnu\b|\btid\b|i dag|klokka|dziś|teraz|czas|bugün|saat|tarih|waktu|tanggal"
    r"|hari ini|giờ|ngày"
    r"|時刻|現在|今日|日時|日付|本日|时间|時間|现在|今天|当前|當前|日期|지금|현재|오늘|시각|시간|날짜|время|сейчас|сегодня|дата|час\b|сьогодні"
    r"|الوقت|التاريخ|الآن|اليوم|समय|अभी|आज|दिनांक|เวลา|วันที่|\bts\b|epoch|unix",
    re.IGNORECASE,
)
"""Words that say that a time or a date is the present one."""

_STEPS = 16
"""Breaks of a conversation, the newest ones, that tell in which steps a value moves."""

_ADVICE = (
    "Move the time behind the stable text: into the newest user message, kept there when the history is sent again, or "
    "offer it as a tool; where the day is enough, print only the date."
)

_LONGEST_LINE = 240
_ALIKE, _LEAST_ALIKE = 200, 12
"""Code points behind a line that have to be the same for it to have been put in front of them: up to, and at least."""


class ClockInPrefix:
    name: ClassVar[str] = "clock-in-prefix"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = (
        "A time of day that is printed anew for each request stands in front of text that was sent before."
    )
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/Mintplex-Labs/anything-llm/issues/6398",
        "https://github.com/adolfousier/opencrabs/issues/657",
        "https://github.com/goruck/home-generative-agent/issues/617",
        "https://github.com/Systemorph/MeshWeaver/issues/2108",
        "https://github.com/earendil-works/pi/issues/1873",
        "https://github.com/nex-agi/NexAU/issues/12",
        "https://github.com/NousResearch/hermes-agent/issues/15866",
        "https://github.com/aaif-goose/goose/issues/2434",
        "https://github.com/SamSaffron/term-llm/issues/796",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        divergence, spot = evidence.divergence, spot_of(evidence.divergence)
        pair = spot.moments if spot is not None else None
        if divergence is None or spot is None:
            return None
        if pair is None:
            return self._on_one_side(evidence, divergence, spot)
        was, now = pair
        confidence = _confidence(evidence, spot, was, now)
        if confidence is None:
            return None
        return Recognised(
            confidence=confidence,
            summary=f"The time in {place(divergence)} changed from {quoted(was.text)} to {quoted(now.text)}"
            f"{_period(evidence, was, now)}.",
            advice=_ADVICE,
            ruled_out=(*ruled_out(evidence), "white space or another form of the same text: the value itself differs"),
        )

    def _on_one_side(self, evidence: Evidence, divergence: Divergence, spot: Spot) -> Recognised | None:
        """A line with the time of its call that only one of the two prompts has, in front of text that both have."""
        gone = len(spot.was) > len(spot.now)
        longer, shorter = (spot.was, spot.now) if gone else (spot.now, spot.was)
        call = evidence.before if gone else evidence.call
        line, broken, behind = longer.partition("\n")
        behind = behind.lstrip("\n")
        same = min(len(behind), len(shorter), _ALIKE)
        if not broken or spot.lead or same < _LEAST_ALIKE or behind[:same] != shorter[:same]:
            return None
        clocks = (one for one in moments(line[:_LONGEST_LINE]) if one.has_time)
        clock = next((one for one in clocks if call is not None and _is_of(one, line, call)), None)
        if clock is None:
            return None
        return Recognised(
            confidence="likely",
            summary=f"A line with the time {'is gone from' if gone else 'is new in'} {place(divergence)}: "
            f"{quoted(clock.text)}.",
            advice=_ADVICE,
            ruled_out=(*ruled_out(evidence), "an edit of the text: what stands behind the line is the same"),
        )


def _is_of(clock: Moment, line: str, call: Seen) -> bool:
    """Whether it shows the time of the call; without a date or a time of the call, a label has to say so."""
    if call.at is None or not (clock.dates or clock.epoch_s is not None):
        return bool(MOMENT_LABEL.search(line[: clock.start]))
    return near(clock, call.at)


def _confidence(
    evidence: Evidence, spot: Spot, was: Moment, now: Moment
) -> Literal["certain", "likely", "possible"] | None:
    """By whether the value moved as the calls did; where it did not, a label must call it the present time."""
    passed = seconds_between(was, now)
    if passed is None or passed == 0:
        return None
    labelled = bool(MOMENT_LABEL.search(spot.label(was.text)[-60:])) or was.age_s is not None
    gap = gap_s(evidence.before, evidence.call)
    if gap is None:
        if evidence.call.at is not None and near(now, evidence.call.at):
            return "likely"
        return "likely" if labelled else "possible" if 0 < passed < DAY_S / 2 else None
    slack = max(was.step_s, now.step_s) + 2 + 0.05 * gap
    away = abs(passed - gap)
    if was.epoch_s is None and not (was.dates and now.dates):
        away = min(away % DAY_S, DAY_S - away % DAY_S)
    if away <= slack:
        return "certain"
    if evidence.call.at is not None and (was.dates or was.epoch_s is not None) and near(now, evidence.call.at):
        return "likely"
    return "likely" if labelled else None


def _period(evidence: Evidence, was: Moment, now: Moment) -> str:
    """How often the value changes: the steps between all values seen at this place, else what its form can show."""
    if now.age_s is not None:
        return "; it is an age that grows by itself"
    steps = [passed for passed in (*_earlier_steps(evidence), seconds_between(was, now)) if passed]
    common = gcd(*(round(passed) for passed in steps)) if len(steps) > 1 else 0
    if common >= 120 and common % 60 == 0:
        return f"; it moves in steps of {common // 60} minutes"
    unit = {60.0: "minute", 3600.0: "hour"}.get(now.step_s, "second")
    return f"; it can change every {unit}"


def _earlier_steps(evidence: Evidence) -> list[float]:
    here = evidence.divergence
    pairs = (
        spot.moments
        for past in evidence.lineage[-_STEPS:]
        if here is not None and past.pointer == here.pointer and (spot := spot_of(past)) is not None
    )
    return [passed for pair in pairs if pair is not None and (passed := seconds_between(*pair)) is not None]
