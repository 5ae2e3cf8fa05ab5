"""Token counts of the OpenAI Responses wire, brought to one meaning.

Reads and writes are part of `input_tokens` (openai-python, types/responses/response_usage.py). xAI reports cached
tokens beside them at times: more of them than input tokens, with a `total_tokens` that is the sum of all (vercel/ai,
packages/xai/src/responses/convert-xai-responses-usage.ts and its test). Writes that OpenAI keeps for 30 minutes or 12
hours are in `written_tokens` alone.
"""

from __future__ import annotations

from typing import Any

from hitrate.core.model import Usage
from hitrate.targets.dialects.counts import Counts

_CACHED = (
    ("usage", "input_tokens_details", "cached_tokens"),
    ("usage", "prompt_tokens_details", "cached_tokens"),
)
_WRITTEN = (("usage", "input_tokens_details", "cache_write_tokens"),)
_WRITTEN_30M = ("usage", "input_tokens_details", "cache_write_tokens_details", "ttl_30m_tokens")
_WRITTEN_12H = ("usage", "input_tokens_details", "cache_write_tokens_details", "ttl_12h_tokens")


def read_usage(usage: Any) -> tuple[Usage, str | None]:
    """The usage object of a response, and what was wrong with it."""
    counts = Counts({"usage": usage})
    cached, cached_source = counts.take_cached(*_CACHED)
    written = counts.take("written_tokens", *_WRITTEN)
    if written is None:
        written = counts.add_up("written_tokens", _WRITTEN_30M, also=(_WRITTEN_12H,))
    prompt = counts.take("prompt_tokens", ("usage", "input_tokens"))
    output = counts.take("output_tokens", ("usage", "output_tokens"))
    if prompt is not None and cached is not None and cached > prompt:
        total = counts.first(("usage", "total_tokens"))[0]
        if total in (None, prompt + cached + (output or 0)):
            prompt += cached
            counts.sources["prompt_tokens"] += f" + {cached_source}"
    found = Usage(
        prompt_tokens=prompt,
        cached_tokens=cached,
        written_tokens=written,
        output_tokens=output,
        reasoning_tokens=counts.take("reasoning_tokens", ("usage", "output_tokens_details", "reasoning_tokens")),
        cached_source=cached_source,
        sources=counts.shared_sources(),
    )
    return found, counts.fault
