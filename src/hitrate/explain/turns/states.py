"""One word for what the cache did with one call."""

from __future__ import annotations

HEAD_SHARE = 0.05
"""A reuse below this share of the prompt is the chat template's head or a sentence that happens to be equal, not the
history: real engines report a few tokens even on a cold call."""


def state_of(
    *,
    prompt_tokens: int | None,
    cached_tokens: int | None,
    expected_cached_tokens: int | None,
    failed: bool = False,
    minimum_tokens: int = 0,
    slack_tokens: int = 0,
) -> str:
    """One of `core.results.STATES`.

    `minimum_tokens` is the shortest prompt the rule can reuse; `slack_tokens` is by how much the expectation may be
    off (the granularity, where the expectation is an estimate; 0 where it is exact).
    """
    if failed or prompt_tokens is None:
        return "failed" if failed else "not reported"
    if cached_tokens is None or not 0 <= cached_tokens <= prompt_tokens:
        return "not reported"
    head = HEAD_SHARE * prompt_tokens
    if cached_tokens <= head and prompt_tokens < minimum_tokens:
        return "too short"
    if expected_cached_tokens is None:
        return "partial" if cached_tokens > head else "cold"
    if cached_tokens >= max(1, expected_cached_tokens - slack_tokens) and cached_tokens > head:
        return "hit"
    if expected_cached_tokens <= head:
        return "cold"
    return "miss" if cached_tokens <= head else "partial"
