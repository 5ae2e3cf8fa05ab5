"""What a vendor's own diagnosis says of a missed cache, and whether a finding agrees with it.

Anthropic names a section (https://platform.claude.com/docs/en/build-with-claude/cache-diagnostics), OpenAI's Responses
a section or a setting (openai-python, types/responses, `prompt_cache_diagnostics`). Neither names a place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hitrate.core.findings import Verdict

_SYSTEM, _TOOLS = frozenset({"system"}), frozenset({"tools", "schema"})
_MESSAGES = frozenset({"user", "assistant", "tool", "image"})

_SECTIONS: Mapping[str, frozenset[str]] = {
    "system_changed": _SYSTEM,
    "instructions_changed": _SYSTEM,
    "tools_changed": _TOOLS,
    "text_format_changed": frozenset({"schema", "tools"}),
    "messages_changed": _MESSAGES,
    "input_changed": _MESSAGES | _SYSTEM,
    "context_compacted": _MESSAGES | _SYSTEM,
}
"""Reasons that name a part of the text, with the kinds of segments in it."""

_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "model_changed": ("model-switched",),
    "reasoning_effort_changed": ("effort-switched",),
    "verbosity_changed": ("effort-switched", "key-setting-changed"),
    "service_tier_changed": ("key-setting-changed", "unknown-setting-changed"),
    "prompt_cache_key_changed": ("affinity-value-changes", "key-setting-changed"),
}
"""Reasons that name a setting, with the causes that mean the same."""

_SAYS_NOTHING = frozenset({"previous_message_not_found", "comparison_response_not_found", "unavailable"})


def vendor_says(diagnosis: Mapping[str, Any] | None, *, verdict: Verdict, cause: str, kind: str | None) -> str | None:
    """The vendor's reason, and "agrees" or "does not agree"; None where the log holds no diagnosis.

    `kind` is that of the segment in which the finding's change lies, None where the text is whole. A diagnosis that
    names no reason neither agrees nor disagrees.
    """
    reason, missed = reason_of(diagnosis)
    if reason is None:
        return None
    said = reason if missed is None else f"{reason}, {missed:,} tokens missed"
    if reason in _SAYS_NOTHING:
        return f"{said}: the vendor could not compare"
    if reason in _SECTIONS:
        same = verdict == "prefix_break" and kind in _SECTIONS[reason]
    elif reason in _SETTINGS:
        same = cause in _SETTINGS[reason]
    elif reason == "cache_hit":
        return f"{said}: the vendor counts this request as served"
    else:
        return f"{said}: a reason that is not known here"
    return f"{said}: agrees" if same else f"{said}: does not agree"


def reason_of(diagnosis: Mapping[str, Any] | None) -> tuple[str | None, int | None]:
    """The reason that a diagnosis names, and how many tokens it counts as missed; None for what it does not say."""
    for holder in _holders(diagnosis):
        for name in ("reason", "type"):
            reason = holder.get(name)
            if isinstance(reason, str) and reason != "cache_miss":
                counts = (holder.get("cache_missed_input_tokens"), holder.get("cache_missed_tokens"))
                return reason, next((one for one in counts if isinstance(one, int)), None)
    return None, None


def _holders(diagnosis: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    """The object with the reason, which may stand inside those it is answered in; the innermost first."""
    if not isinstance(diagnosis, Mapping):
        return
    for name in ("diagnostics", "prompt_cache_diagnostics", "cache_miss_reason"):
        inner = diagnosis.get(name)
        if isinstance(inner, str):
            yield {**diagnosis, "reason": inner}
        else:
            yield from _holders(inner)
    yield diagnosis
