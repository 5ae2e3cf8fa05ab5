"""Findings as they grow: the same cause at the same place of a conversation is one finding, however often it shows."""

from __future__ import annotations

from decimal import Decimal

from msgspec.structs import replace

from hitrate.core.findings import Finding
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.causes.interface import Cause
from hitrate.explain.evidence import Divergence, Recognised

MOST_CALLS_LISTED = 100

_POSITION = lazy_pattern(r"/\d+(?=/|$)")


class _Growing:
    """One finding. Lost tokens and dollars are None until a call adds some that are known."""

    __slots__ = ("calls", "finding", "lost_tokens", "lost_usd", "occurrences")

    def __init__(self, finding: Finding) -> None:
        self.finding = finding
        self.calls: list[int] = []
        self.occurrences = 0
        self.lost_tokens: int | None = None
        self.lost_usd: Decimal | None = None


def place_of(pointer: str) -> str:
    """A JSON pointer without the numbers of elements: repeats of a cause at one place are one finding."""
    return _POSITION.sub("/*", pointer)


class Findings:
    """Collects what was recognised, call by call."""

    def __init__(self) -> None:
        self._growing: dict[tuple[object, ...], _Growing] = {}

    def add(
        self,
        call: int,
        against: int | None,
        cause: Cause,
        recognised: Recognised,
        divergence: Divergence | None,
        *,
        conversation: object,
        session: str | None,
        lost_tokens: int | None,
        lost_usd: Decimal | None,
        vendor: str | None = None,
    ) -> None:
        """`conversation` is what repeats of the cause are one finding within."""
        pointer = recognised.pointer or (divergence.pointer if divergence is not None else None)
        key = (conversation, cause.name, None if pointer is None else place_of(pointer))
        growing = self._growing.get(key)
        if growing is None:
            finding = _finding(call, against, cause, recognised, divergence, session, vendor)
            growing = self._growing[key] = _Growing(finding)
        if len(growing.calls) < MOST_CALLS_LISTED:
            growing.calls.append(call)
        growing.occurrences += 1
        if lost_tokens is not None:
            growing.lost_tokens = (growing.lost_tokens or 0) + lost_tokens
        if lost_usd is not None:
            growing.lost_usd = (growing.lost_usd or Decimal(0)) + lost_usd

    def all(self) -> list[Finding]:
        """In the order in which they first showed."""
        return [
            replace(
                growing.finding,
                calls=tuple(growing.calls),
                occurrences=growing.occurrences,
                lost_tokens=growing.lost_tokens,
                lost_usd=None if growing.lost_usd is None else float(growing.lost_usd),
            )
            for growing in self._growing.values()
        ]


def _finding(
    call: int,
    against: int | None,
    cause: Cause,
    recognised: Recognised,
    divergence: Divergence | None,
    session: str | None,
    vendor: str | None,
) -> Finding:
    of_text = divergence if recognised.pointer is None else None
    return Finding(
        verdict=cause.verdict,
        cause=cause.name,
        call=call,
        against=against,
        pointer=recognised.pointer or (of_text.pointer if of_text is not None else None),
        offset=None if of_text is None else of_text.offset,
        was=recognised.was if of_text is None else of_text.was,
        now=recognised.now if of_text is None else of_text.now,
        cacheable_chars=None if divergence is None else divergence.cacheable_chars,
        cacheable_share=None if divergence is None else divergence.cacheable_share,
        lost_tokens=None,
        lost_usd=None,
        voice=recognised.voice or cause.voice,
        confidence=recognised.confidence,
        summary=recognised.summary,
        ruled_out=recognised.ruled_out,
        advice=recognised.advice,
        session=session,
        vendor=vendor,
    )
