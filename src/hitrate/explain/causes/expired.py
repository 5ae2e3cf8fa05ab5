"""The entry was older than its lifetime."""

from __future__ import annotations

from typing import ClassVar

from hitrate.core.findings import Verdict, Voice
from hitrate.core.money import break_even_calls
from hitrate.explain.evidence import Evidence, Facts, Recognised, Seen
from hitrate.explain.ruled_out import ruled_out
from hitrate.explain.server import own_engine
from hitrate.explain.signs import (
    duration,
    gap_s,
    last_touch,
    left_by,
    lifetime_s,
    lost_in_conversation,
    noise_tokens,
    steps,
    warm_by_time,
    was_hit,
)

_OFTEN_GONE_S, _MOSTLY_GONE_S = 300.0, 3600.0
"""Idle times after which entries without a published lifetime are often, and nearly always, gone: "5 to 10 minutes of
inactivity", "within one hour" (https://platform.openai.com/docs/guides/prompt-caching)."""

_READ, _WRITE, _WRITE_1H = 0.1, 1.25, 2.0
"""In multiples of the input price (https://platform.claude.com/docs/en/build-with-claude/prompt-caching, "Pricing")."""


class Expired:
    name: ClassVar[str] = "expired"
    verdict: ClassVar[Verdict] = "expiry"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "More time passed since the prefix was last written or read than its entry lives."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/rossoctl/context-guru/issues/86",
        "https://github.com/anthropics/claude-code/issues/60316",
        "https://github.com/anthropics/claude-code/issues/43566",
    )

    def recognise(self, evidence: Evidence) -> Recognised | None:
        if lost_in_conversation(evidence) is None or warm_by_time(evidence):
            return None
        touched = last_touch(evidence)
        gap = gap_s(touched, evidence.call)
        if touched is None or gap is None:
            return None
        left = left_by(touched, evidence.facts)
        if left is not None and (evidence.call.usage.cached_tokens or 0) >= left - noise_tokens(evidence):
            return None
        lifetime, granted = _lifetime(touched, evidence.facts)
        if lifetime is not None:
            return _known(evidence, touched, gap, lifetime, granted) if gap > lifetime else None
        return _not_published(evidence, gap)


def _known(evidence: Evidence, touched: Seen, gap: float, lifetime: float, granted: bool) -> Recognised:
    part = ""
    if evidence.call.usage.cached_tokens:
        part = f" A shorter prefix of {evidence.call.usage.cached_tokens:,} tokens was still there."
    if granted:
        part += " One hour was asked for, but the write was billed as five minutes."
    rhythm = _rhythm(evidence, lifetime)
    return Recognised(
        confidence="certain" if evidence.facts.requires_marks else "likely",
        summary=f"{duration(gap)} passed since request {touched.index}, which last used this prefix; its entry lives "
        f"{duration(lifetime)}.{part}{rhythm}",
        advice=_advice(evidence.facts, gap, lifetime),
        ruled_out=ruled_out(evidence, "gap"),
    )


def _not_published(evidence: Evidence, gap: float) -> Recognised | None:
    """Where no lifetime is published: by the idle time, unless the conversation was served after a longer one."""
    if gap < _OFTEN_GONE_S or own_engine(evidence.facts):
        return None
    for before, call in steps(evidence):
        between = gap_s(before, call)
        if between is not None and between >= gap and was_hit(before, call, evidence.facts):
            return None
    short_misses = [
        1
        for before, call in steps(evidence)
        if (gap_s(before, call) or 0.0) < _OFTEN_GONE_S and was_hit(before, call, evidence.facts) is False
    ]
    if short_misses:
        return None
    return Recognised(
        confidence="likely" if gap >= _MOSTLY_GONE_S else "possible",
        summary=f"{duration(gap)} passed since the prefix was last used; the lifetime is not published, and entries "
        "that idle this long are often gone.",
        advice="Ask for the longer retention where there is one (at OpenAI prompt_cache_retention), or send a small "
        "keep-alive call during long pauses.",
        ruled_out=ruled_out(evidence, "gap"),
    )


def _lifetime(touched: Seen, facts: Facts) -> tuple[float | None, bool]:
    """Of the longest entry that the call left, and whether less was granted than was asked for."""
    asked = lifetime_s(touched.marks[-1].ttl) if touched.marks else None
    retained = [one.value for one in (*touched.key, *touched.others) if one.pointer.endswith("prompt_cache_retention")]
    if asked is None and retained:
        asked = lifetime_s(retained[0])
    if asked is None:
        return facts.ttl_s, False
    usage = touched.usage
    if asked > _OFTEN_GONE_S and usage.written_5m_tokens and not usage.written_1h_tokens:
        return _OFTEN_GONE_S, True
    return asked, False


def _rhythm(evidence: Evidence, lifetime: float) -> str:
    """Says so where the calls of the conversation come at a fixed distance that is longer than the lifetime."""
    gaps = [gap for before, call in steps(evidence) if (gap := gap_s(before, call)) is not None]
    if len(gaps) < 2 or min(gaps) <= lifetime or max(gaps) > 1.1 * min(gaps):
        return ""
    return f" The requests come every {duration(sum(gaps) / len(gaps))}, so every one of them finds it gone."


def _advice(facts: Facts, gap: float, lifetime: float) -> str:
    if not facts.requires_marks:
        return "Send the next request sooner, or a small keep-alive call during long pauses."
    if gap > _MOSTLY_GONE_S:
        return (
            "No lifetime covers this pause: a keep-alive call renews the entry, at the price of a read each time; else "
            "accept one full write after it."
        )
    if lifetime >= _MOSTLY_GONE_S:
        return "Send a keep-alive call before the hour is over, which renews the entry at the price of a read."
    calls, hour_calls = break_even_calls(1.0, _READ, _WRITE), break_even_calls(1.0, _READ, _WRITE_1H)
    return (
        f'Where such pauses are common, ask for "ttl": "1h": its write costs {_WRITE_1H:g}x the input price instead of '
        f"{_WRITE:g}x and pays from call {hour_calls} with the same prefix (five minutes: from call {calls}); one "
        f"rewrite after such a pause costs {_WRITE - _READ:g}x more than a read, the dearer "
        f"write {_WRITE_1H - _WRITE:g}x."
    )
