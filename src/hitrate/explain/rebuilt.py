"""What a request that was put together from a log does not show, and what therefore must not be said of it.

A log of spans or of a conversation has the texts of a request and not the request (`Seen.rebuilt`). What it lacks may
have been sent all the same: cache markers, tools, a session key in the body or a header. And JSON in it is as whoever
wrote the log printed it, white space and Unicode form are as they were stored. A rendered prompt is all text, so there
its white space is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from msgspec.structs import replace

from hitrate.core.prompt import CanonicalPrompt
from hitrate.explain.compared import Compared
from hitrate.explain.evidence import Evidence, Facts, Recognised, Seen

SAY_WHAT_IS_ABSENT = frozenset(
    {
        "exact-breakpoint",
        "history-not-marked",
        "look-back-exceeded",
        "markers-dropped",
        "markers-not-read",
        "no-affinity",
        "no-markers",
        "opening-not-marked",
    }
)
"""Causes, and checks of single requests, that rest on where markers or a session key are not."""

FIND_NOTHING = frozenset({"never-served", "provider-missed"})
"""Causes that rest on nothing in the requests being the reason."""

_FORMS = frozenset({"white space", "unicode form", "json order", "json text"})
"""Changes of how something is written down."""


class Named(Protocol):
    @property
    def name(self) -> str: ...


Said = TypeVar("Said", bound=Named)


def may_be_said(all_of_them: Iterable[Said], *calls: Seen | None) -> Iterable[Said]:
    """Those causes or checks that can be told of these calls."""
    if not _any_rebuilt(calls):
        return all_of_them
    return [one for one in all_of_them if one.name not in SAY_WHAT_IS_ABSENT]


def may_have_cached(evidence: Evidence) -> bool:
    """Whether the call may have been cached at all, at an API that caches only what is marked: a rebuilt one shows it
    by its counts alone, where they say of reads or writes, or by those of its conversation."""
    call = evidence.call
    if not (call.rebuilt and evidence.facts.requires_marks) or not call.answered:
        return True
    if call.usage.written_tokens is not None:
        return bool(call.usage.written_tokens or call.usage.cached_tokens)
    return any(one.usage.cached_tokens for one in (call, *evidence.earlier, *evidence.later))


def facts_shown(facts: Facts, call: Seen) -> Facts:
    """Without the knob for affinity where it does not show whether that was used."""
    return replace(facts, affinity_knob=None) if call.rebuilt else facts


def as_far_as_shown(recognised: Recognised, name: str, call: Seen) -> Recognised:
    """What a cause says of the call, as surely as the log allows."""
    if name not in FIND_NOTHING or not call.rebuilt:
        return recognised
    more = "The log does not hold the requests themselves: what it leaves out may have changed."
    return replace(recognised, summary=f"{recognised.summary} {more}", confidence="possible", voice="observation")


def is_shown(compared: Compared, before: Seen, call: Seen) -> bool:
    """Whether the requests differ where they seem to part: not where only the form of something differs, or where one
    of the records has no tools at all, which it leaves out."""
    if not _any_rebuilt((before, call)):
        return True
    divergence = compared.divergence
    if divergence.change in _FORMS:
        return divergence.pointer.startswith("/prompt")
    return divergence.kind != "tools" or all(map(_has_tools, compared.prompts))


def _has_tools(prompt: CanonicalPrompt) -> bool:
    return any(segment.kind == "tools" for segment in prompt.segments)


def _any_rebuilt(calls: tuple[Seen | None, ...]) -> bool:
    return any(call is not None and call.rebuilt for call in calls)
