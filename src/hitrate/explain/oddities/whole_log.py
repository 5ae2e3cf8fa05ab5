"""A finding on a whole log: nothing was lost, and it stands at no place of a request."""

from __future__ import annotations

from collections.abc import Sequence

from hitrate.core.findings import Confidence, Finding, Verdict, Voice

_LISTED = 100


def whole_log_finding(
    verdict: Verdict,
    cause: str,
    calls: Sequence[int],
    summary: str,
    advice: str,
    *,
    voice: Voice = "observation",
    confidence: Confidence = "certain",
) -> Finding:
    """`calls` are those it shows in; none of them: it is of the file, not of its calls."""
    return Finding(
        verdict=verdict,
        cause=cause,
        call=None,
        against=None,
        pointer=None,
        offset=None,
        was=None,
        now=None,
        cacheable_chars=None,
        cacheable_share=None,
        lost_tokens=None,
        lost_usd=None,
        voice=voice,
        confidence=confidence,
        summary=summary,
        advice=advice,
        calls=tuple(calls[:_LISTED]),
        occurrences=max(1, len(calls)),
    )
