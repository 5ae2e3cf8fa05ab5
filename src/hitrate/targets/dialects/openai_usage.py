"""Token counts of the chat-completions wire, in every vendor's spelling, brought to one meaning.

On this wire cached tokens are always part of the prompt tokens. A count may come as an integer, as a float without a
fraction (12.0, from servers that keep numbers as doubles) or as a string of ASCII digits (Fireworks copies header
values into its body); anything else, booleans and negative numbers included, is a fault and stays unknown.

Sources, by vendor: OpenAI, Azure, Crusoe, xAI, Cerebras, Z.ai, vLLM, SGLang, llama.cpp `prompt_tokens_details`
(https://platform.openai.com/docs/guides/prompt-caching); DeepSeek `prompt_cache_hit_tokens`
(https://api-docs.deepseek.com/guides/kv_cache); Moonshot top-level `cached_tokens` and Mistral `num_cached_tokens`,
`prompt_token_details` (vercel/ai, packages/moonshotai and packages/mistral, convert-*-usage); MiniMax
`cache_read_input_tokens` (https://platform.minimax.io/docs/api-reference/text-prompt-caching); DashScope
`cache_creation_input_tokens` (https://www.alibabacloud.com/help/en/model-studio/context-cache); vLLM
`created_cache_tokens`; Groq `x_groq.usage` (groq-python, types/chat); llama.cpp `timings` (tools/server/README.md);
Fireworks `perf_metrics` (https://docs.fireworks.ai/guides/prompt-caching).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hitrate.core.model import Usage

_CACHED = (
    ("usage", "prompt_tokens_details", "cached_tokens"),
    ("usage", "prompt_token_details", "cached_tokens"),
    ("usage", "prompt_cache_hit_tokens"),
    ("usage", "cached_tokens"),
    ("usage", "num_cached_tokens"),
    ("usage", "input_tokens_details", "cached_tokens"),
    ("usage", "cache_read_input_tokens"),
    ("x_groq", "usage", "prompt_tokens_details", "cached_tokens"),
    ("timings", "cache_n"),
    ("perf_metrics", "cached-prompt-tokens"),
)
"""Where cached tokens stand, the vendors' main field first; the first that holds a count wins."""

_WRITTEN = (
    ("usage", "prompt_tokens_details", "cache_write_tokens"),
    ("usage", "prompt_tokens_details", "cache_creation_input_tokens"),
    ("usage", "prompt_tokens_details", "cache_creation_tokens"),
    ("usage", "prompt_tokens_details", "created_cache_tokens"),
    ("usage", "input_tokens_details", "cache_write_tokens"),
    ("usage", "cache_creation_input_tokens"),
)

_GROQ_TIERS = ("sram_cached_tokens", "dram_cached_tokens")


class _Counts:
    """Reads counts out of a reply and remembers the first that was none."""

    def __init__(self, reply: Mapping[str, Any]) -> None:
        self.reply = reply
        self.fault: str | None = None

    def first(self, *paths: tuple[str, ...]) -> tuple[int | None, str]:
        """The first path with a count, and that path; or "null" if one was there without a count, or "absent"."""
        source = "absent"
        for path in paths:
            found, value = _look_up(self.reply, path)
            if not found:
                continue
            count = token_count(value)
            if count is not None:
                return count, ".".join(path)
            source = "null"
            if value is not None and self.fault is None:
                self.fault = f"{'.'.join(path)} is {str(value)[:40]!r}, not a token count"
        return None, source

    def get(self, *path: str) -> int | None:
        return self.first(path)[0]


def token_count(value: Any) -> int | None:
    """A count in one of the accepted spellings, None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if value >= 0 else None
    if isinstance(value, float):
        return int(value) if math.isfinite(value) and value >= 0 and value == int(value) else None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    return None


def _look_up(reply: Mapping[str, Any], path: tuple[str, ...]) -> tuple[bool, Any]:
    """Whether the field is there, and its value. A parent that is null counts as a field that is null."""
    value: Any = reply
    for depth, name in enumerate(path):
        if not isinstance(value, Mapping) or name not in value:
            return False, None
        value = value[name]
        if value is None:
            # `usage: null` on every chunk but the last is no statement about cached tokens; null details are one.
            return depth == len(path) - 1 or name.endswith("_details"), None
    return True, value


def read_usage(reply: Mapping[str, Any]) -> tuple[Usage, str | None]:
    """The usage of a reply with members `usage`, `timings`, `x_groq`, `perf_metrics`, and what was wrong with it.

    Any of the members may be missing or null; what cannot be known stays None.
    """
    counts = _Counts(reply)
    cached, source = counts.first(*_CACHED)
    if cached is None:
        cached, source = _groq_tiers(reply, source)
    output = counts.first(("usage", "completion_tokens"), ("x_groq", "usage", "completion_tokens"))[0]
    if output is None:
        output = counts.get("timings", "predicted_n")
    prompt = _prompt_tokens(counts)
    reasoning = counts.first(("usage", "completion_tokens_details", "reasoning_tokens"), ("usage", "reasoning_tokens"))[
        0
    ]
    total = counts.get("usage", "total_tokens")
    if reasoning and None not in (total, prompt, output) and total == prompt + output + reasoning:  # type: ignore[operator]
        output = output + reasoning  # type: ignore[operator]  # xAI and Gemini count reasoning beside the completion
    usage = Usage(
        prompt_tokens=prompt,
        cached_tokens=cached,
        written_tokens=counts.first(*_WRITTEN)[0],
        output_tokens=output,
        reasoning_tokens=reasoning,
        cached_source=source,
    )
    return usage, counts.fault


def _prompt_tokens(counts: _Counts) -> int | None:
    prompt = counts.first(("usage", "prompt_tokens"), ("x_groq", "usage", "prompt_tokens"))[0]
    if prompt is None:
        prompt = _sum(counts.get("usage", "prompt_cache_hit_tokens"), counts.get("usage", "prompt_cache_miss_tokens"))
    if prompt is None:
        prompt = _sum(counts.get("timings", "cache_n"), counts.get("timings", "prompt_n"))
    return prompt


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _groq_tiers(reply: Mapping[str, Any], source: str) -> tuple[int | None, str]:
    """Groq's two memory tiers added up, where its main field is missing."""
    tiers = {name: token_count(_look_up(reply, ("x_groq", "usage", name))[1]) for name in _GROQ_TIERS}
    known = {name: count for name, count in tiers.items() if count is not None}
    if not known:
        return None, source
    return sum(known.values()), "x_groq.usage." + "+".join(known)
