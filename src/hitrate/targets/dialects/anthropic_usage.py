"""Token counts of the Anthropic Messages wire, brought to one meaning.

`input_tokens` here are the tokens after the last breakpoint only: reads and writes stand beside them, so the prompt is
the sum of the three (https://platform.claude.com/docs/en/build-with-claude/prompt-caching, "Tracking cache
performance"). The same holds for the `/v1/messages` endpoints of vLLM, SGLang, llama.cpp, MiniMax, Moonshot and
DashScope; those that have no cache counters (SambaNova, Ollama) report all input as `input_tokens`.

In a stream the counters of `message_delta` are running totals, which replace those of `message_start`.
"""

from __future__ import annotations

from typing import Any

from hitrate.core.model import Usage
from hitrate.targets.dialects.counts import Counts, Path

_INPUT = ("usage", "input_tokens")
_READ = ("usage", "cache_read_input_tokens")
_WRITTEN = ("usage", "cache_creation_input_tokens")
_WRITTEN_5M = ("usage", "cache_creation", "ephemeral_5m_input_tokens")
_WRITTEN_1H = ("usage", "cache_creation", "ephemeral_1h_input_tokens")


def read_usage(usage: dict[str, Any]) -> tuple[Usage, str | None]:
    """The usage object of a reply, or of a stream with the last value of each counter, and what was wrong with it."""
    counts = Counts({"usage": usage})
    cached, cached_source = counts.take_cached(_READ)
    written = counts.take("written_tokens", _WRITTEN)
    parts: tuple[Path, ...] = (_WRITTEN,)
    if written is None:
        written = counts.add_up("written_tokens", _WRITTEN_5M, also=(_WRITTEN_1H,))
        parts = (_WRITTEN_5M, _WRITTEN_1H)
    found = Usage(
        prompt_tokens=counts.add_up("prompt_tokens", _INPUT, also=(_READ, *parts)),
        cached_tokens=cached,
        written_tokens=written,
        written_5m_tokens=counts.take("written_5m_tokens", _WRITTEN_5M),
        written_1h_tokens=counts.take("written_1h_tokens", _WRITTEN_1H),
        output_tokens=counts.take("output_tokens", ("usage", "output_tokens")),
        reasoning_tokens=counts.take("reasoning_tokens", ("usage", "output_tokens_details", "thinking_tokens")),
        cached_source=cached_source,
        sources=counts.shared_sources(),
    )
    return found, counts.fault


def merge_usage(earlier: dict[str, Any], later: Any) -> dict[str, Any]:
    """Two reports of one stream: the last value of each counter counts; null says nothing."""
    if not isinstance(later, dict):
        return earlier
    return {**earlier, **{name: value for name, value in later.items() if value is not None or name not in earlier}}
