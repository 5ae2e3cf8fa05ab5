"""Token counts of the chat-completions wire, in every vendor's spelling, brought to one meaning.

On this wire cached and written tokens are part of the prompt tokens. xAI alone reports, at times, more cached than
prompt tokens with a `total_tokens` that is the sum of all (vercel/ai, packages/xai, convert-xai-chat-usage and its
test); without such a total the contradiction stays as reported (OpenRouter's replays).

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

from typing import Any

from hitrate.core import usage_plans
from hitrate.core.model import Usage
from hitrate.core.usage_plans import UsagePlans
from hitrate.targets.dialects.counts import Counts

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

_WRITTEN_5M = ("usage", "prompt_tokens_details", "cache_creation", "ephemeral_5m_input_tokens")
_WRITTEN_1H = ("usage", "prompt_tokens_details", "cache_creation", "ephemeral_1h_input_tokens")
"""DashScope's writes by lifetime."""

_GROQ_TIERS = (("x_groq", "usage", "sram_cached_tokens"), ("x_groq", "usage", "dram_cached_tokens"))
"""Groq's two memory tiers, which add up."""

_OUTPUT = (
    ("usage", "completion_tokens"),
    ("x_groq", "usage", "completion_tokens"),
    ("timings", "predicted_n"),
)

_REASONING = (
    ("usage", "completion_tokens_details", "reasoning_tokens"),
    ("usage", "reasoning_tokens"),
)

_PROMPT_IN_PARTS = (
    (("usage", "prompt_cache_hit_tokens"), ("usage", "prompt_cache_miss_tokens")),
    (("timings", "cache_n"), ("timings", "prompt_n")),
)
"""What the prompt tokens add up from where they are not given: DeepSeek, llama.cpp."""


def read_usage(reply: dict[str, Any]) -> tuple[Usage, str | None]:
    """The usage of a reply with members `usage`, `timings`, `x_groq`, `perf_metrics`, and what was wrong with it.

    Any of the members may be missing or null; what cannot be known stays None.
    """
    shape = usage_plans.shape_of(reply, None)
    known = None if shape is None else _plans.read(shape)
    if known is not None:
        return known[1], None
    usage, fault = _look_for_usage(reply)
    if shape is not None and fault is None:
        _plans.learn(shape, reply, "openai-chat", usage)
    return usage, fault


_plans = UsagePlans()
"""Of the whole program: the replies of a server are alike."""


def _look_for_usage(reply: dict[str, Any]) -> tuple[Usage, str | None]:
    counts = Counts(reply)
    cached, cached_source = counts.take_cached(*_CACHED)
    if cached is None:
        tiers = [tier for tier in _GROQ_TIERS if counts.first(tier)[0] is not None]
        if tiers:
            cached = counts.add_up("cached_tokens", *tiers)
            cached_source = counts.sources["cached_tokens"]
    output = counts.take("output_tokens", *_OUTPUT)
    prompt = _prompt_tokens(counts)
    reasoning = counts.take("reasoning_tokens", *_REASONING)
    total = counts.first(("usage", "total_tokens"))[0]
    if total is not None and prompt is not None and output is not None:
        if reasoning and total == prompt + output + reasoning:
            output += reasoning  # xAI and Gemini count reasoning beside the completion
            counts.sources["output_tokens"] += f" + {counts.sources['reasoning_tokens']}"
        if cached and cached > prompt and total == prompt + output + cached:
            prompt += cached
            counts.sources["prompt_tokens"] += f" + {cached_source}"
    usage = Usage(
        prompt_tokens=prompt,
        cached_tokens=cached,
        written_tokens=counts.take("written_tokens", *_WRITTEN),
        written_5m_tokens=counts.take("written_5m_tokens", _WRITTEN_5M),
        written_1h_tokens=counts.take("written_1h_tokens", _WRITTEN_1H),
        output_tokens=output,
        reasoning_tokens=reasoning,
        cached_source=cached_source,
        sources=counts.shared_sources(),
    )
    return usage, counts.fault


def _prompt_tokens(counts: Counts) -> int | None:
    prompt = counts.take("prompt_tokens", ("usage", "prompt_tokens"), ("x_groq", "usage", "prompt_tokens"))
    for parts in _PROMPT_IN_PARTS:
        if prompt is None:
            prompt = counts.add_up("prompt_tokens", *parts)
    return prompt
