"""Token counts that a vendor puts into response headers, for replies whose body does not tell them."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from hitrate.core.model import Usage
from hitrate.targets.dialects.counts import token_count

CACHED = ("fireworks-cached-prompt-tokens",)
PROMPT = ("fireworks-prompt-tokens",)
"""Fireworks, https://docs.fireworks.ai/guides/prompt-caching"""


def with_header_counts(usage: Usage, headers: Mapping[str, str]) -> Usage:
    """Counts that `usage` lacks, read from headers (names in lower case); what the body said is never replaced."""
    if usage.cached_tokens is not None and usage.prompt_tokens is not None:
        return usage
    found: dict[str, int | str] = {}
    for member, names in (("cached_tokens", CACHED), ("prompt_tokens", PROMPT)):
        for name in names:
            count = token_count(headers.get(name, "").strip())
            if getattr(usage, member) is None and count is not None:
                found[member] = count
                if member == "cached_tokens":
                    found["cached_source"] = f"header {name}"
    if not found:
        return usage
    sources = {member: f"header {names[0]}" for member, names in (("cached_tokens", CACHED), ("prompt_tokens", PROMPT))}
    return replace(usage, **found, sources={**usage.sources, **{m: s for m, s in sources.items() if m in found}})
