"""Why a call was served less than the one before it left, as far as a log without prompts can tell. Asked in order."""

from __future__ import annotations

from typing import ClassVar, Protocol

from msgspec import Struct

from hitrate.core.findings import Verdict, Voice
from hitrate.explain.evidence import Recognised


class Shortfall(Struct, frozen=True, kw_only=True):
    """A call that continues a conversation and was served less than was left for it."""

    expected_tokens: int
    cached_tokens: int
    against: int
    """The call that left it."""
    idle_s: float | None
    """Since that call was sent; None where the log has no times."""
    lifetime_s: float
    compacted: bool = False
    settings: tuple[str, ...] = ()
    """What changed in between, each with both values."""
    after_failure: bool = False
    """A call in between ended without token counts."""

    @property
    def extent(self) -> str:
        """How much of it was lost, as the start of a sentence."""
        if self.cached_tokens == 0:
            return f"None of the {self.expected_tokens:,} tokens that call {self.against} left were served"
        return (
            f"Of the {self.expected_tokens:,} tokens that call {self.against} left, {self.cached_tokens:,} were served"
        )


class LedgerCause(Protocol):
    """As `explain.causes.interface.Cause`, for calls whose text is not known."""

    name: ClassVar[str]
    verdict: ClassVar[Verdict]
    voice: ClassVar[Voice]
    about: ClassVar[str]
    reports: ClassVar[tuple[str, ...]]

    def recognise(self, shortfall: Shortfall) -> Recognised | None: ...


class Compaction:
    name: ClassVar[str] = "compaction"
    verdict: ClassVar[Verdict] = "prefix_break"
    voice: ClassVar[Voice] = "observation"
    about: ClassVar[str] = "The history was replaced by a summary, so the next prompt was written anew."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/openai/codex/issues/37305",
        "https://github.com/aaif-goose/goose/issues/11257",
    )

    def recognise(self, shortfall: Shortfall) -> Recognised | None:
        if not shortfall.compacted:
            return None
        return Recognised(
            confidence="likely",
            summary=f"{shortfall.extent}, after a compaction of the history.",
            advice="Expected once a compaction; what it costs is not counted as lost. Compact less often, or let the "
            "summary request carry the conversation as it is, so that at least that is served.",
        )


class IdleTime:
    name: ClassVar[str] = "idle-time"
    verdict: ClassVar[Verdict] = "expiry"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "More time passed between two calls than an unused entry is kept."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/rossoctl/context-guru/issues/86",
        "https://github.com/earendil-works/pi/issues/6427",
    )

    def recognise(self, shortfall: Shortfall) -> Recognised | None:
        if shortfall.idle_s is None or shortfall.idle_s <= shortfall.lifetime_s:
            return None
        also = f" Also changed: {', '.join(shortfall.settings)}." if shortfall.settings else ""
        longer = (
            "Ask for the one-hour lifetime where pauses like this are usual, or send a small call within the lifetime."
            if shortfall.lifetime_s < 3600
            else "Send a small call within the lifetime where pauses like this are usual."
        )
        return Recognised(
            confidence="likely",
            summary=f"{shortfall.extent}: {shortfall.idle_s:,.0f} s passed, and entries are kept for "
            f"{shortfall.lifetime_s:,.0f} s.{also}",
            advice=longer,
            ruled_out=("a compaction",),
        )


class ParameterChange:
    name: ClassVar[str] = "parameter-change"
    verdict: ClassVar[Verdict] = "key_change"
    voice: ClassVar[Voice] = "yours to change"
    about: ClassVar[str] = "The model, the thinking level or the tools were changed between two calls."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/openai/codex/issues/35416",
        "https://github.com/anthropics/claude-code/issues/48087",
    )

    def recognise(self, shortfall: Shortfall) -> Recognised | None:
        if not shortfall.settings:
            return None
        return Recognised(
            confidence="likely",
            summary=f"{shortfall.extent}, after a change of {', '.join(shortfall.settings)}.",
            advice="Change it at the start of a conversation or together with a compaction: the whole history is "
            "computed again.",
            ruled_out=("a compaction", *_in_time(shortfall)),
        )


class AbortedTurn:
    name: ClassVar[str] = "aborted-turn"
    verdict: ClassVar[Verdict] = "unknown"
    voice: ClassVar[Voice] = "observation"
    about: ClassVar[str] = "Nothing shows in the log but a call just before it that was aborted or failed."
    reports: ClassVar[tuple[str, ...]] = ()

    def recognise(self, shortfall: Shortfall) -> Recognised | None:
        if not shortfall.after_failure:
            return None
        return Recognised(
            confidence="possible",
            summary=f"{shortfall.extent}, after a call that was aborted or failed; nothing else shows in this log.",
            advice="Record the requests themselves to see whether what is sent again after an aborted call differs.",
            ruled_out=_all_but_failures(shortfall),
        )


class NotVisible:
    name: ClassVar[str] = "not-visible"
    verdict: ClassVar[Verdict] = "unknown"
    voice: ClassVar[Voice] = "observation"
    about: ClassVar[str] = "The log shows no cause; whether the prompt changed cannot be told without its text."
    reports: ClassVar[tuple[str, ...]] = (
        "https://github.com/anthropics/claude-code/issues/87966",
        "https://github.com/cortexkit/anthropic-auth/issues/157",
    )

    def recognise(self, shortfall: Shortfall) -> Recognised | None:
        return Recognised(
            confidence="possible",
            summary=f"{shortfall.extent}. The cause is not visible in this log.",
            advice="Record the requests themselves: then it shows whether the prompt changed or the provider lost it.",
            ruled_out=(*_all_but_failures(shortfall), "an aborted call before it"),
        )


LEDGER_CAUSES: tuple[LedgerCause, ...] = (Compaction(), IdleTime(), ParameterChange(), AbortedTurn(), NotVisible())


def _in_time(shortfall: Shortfall) -> tuple[str, ...]:
    if shortfall.idle_s is None:
        return ()
    return (f"expiry: {shortfall.idle_s:,.0f} s passed, entries are kept for {shortfall.lifetime_s:,.0f} s",)


def _all_but_failures(shortfall: Shortfall) -> tuple[str, ...]:
    return ("a compaction", *_in_time(shortfall), "a change of model or settings that the log shows")
