"""Token counts of the Gemini wire, brought to one meaning.

`promptTokenCount` holds the cached tokens, also those of an explicit cache (google-genai, types.py,
GenerateContentResponseUsageMetadata). Beside it stand the results of tools that ran on the server, which are input too,
and beside `candidatesTokenCount` the thoughts. The Interactions API has the same counts in a `usage` of its own.
Nothing is reported of writes: an explicit cache is paid by its own request and by the hour.
"""

from __future__ import annotations

from typing import Any

from hitrate.core.model import Usage
from hitrate.targets.dialects.counts import Counts


def read_usage(reply: dict[str, Any]) -> tuple[Usage, str | None]:
    """The usage of an object with `usageMetadata` (or Interactions' `usage`), and what was wrong with it."""
    counts = Counts(reply)
    if "usageMetadata" not in reply and "usage" in reply:
        return _interactions(counts), counts.fault
    cached, cached_source = counts.take_cached(("usageMetadata", "cachedContentTokenCount"))
    prompt = counts.add_up(
        "prompt_tokens", ("usageMetadata", "promptTokenCount"), also=(("usageMetadata", "toolUsePromptTokenCount"),)
    )
    output = counts.add_up(
        "output_tokens", ("usageMetadata", "candidatesTokenCount"), also=(("usageMetadata", "thoughtsTokenCount"),)
    )
    reasoning = counts.take("reasoning_tokens", ("usageMetadata", "thoughtsTokenCount"))
    if output is None and reasoning is not None:  # a reply that ended within its thoughts
        output = reasoning
        counts.sources["output_tokens"] = counts.sources["reasoning_tokens"]
    found = Usage(
        prompt_tokens=prompt,
        cached_tokens=cached,
        output_tokens=output,
        reasoning_tokens=reasoning,
        cached_source=cached_source,
        sources=counts.shared_sources(),
    )
    return found, counts.fault


def _interactions(counts: Counts) -> Usage:
    cached, cached_source = counts.take_cached(("usage", "total_cached_tokens"))
    return Usage(
        prompt_tokens=counts.add_up(
            "prompt_tokens", ("usage", "total_input_tokens"), also=(("usage", "total_tool_use_tokens"),)
        ),
        cached_tokens=cached,
        output_tokens=counts.add_up(
            "output_tokens", ("usage", "total_output_tokens"), also=(("usage", "total_thought_tokens"),)
        ),
        reasoning_tokens=counts.take("reasoning_tokens", ("usage", "total_thought_tokens")),
        cached_source=cached_source,
        sources=counts.shared_sources(),
    )
