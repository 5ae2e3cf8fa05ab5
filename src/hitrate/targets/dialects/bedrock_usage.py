"""Token counts of Bedrock's Converse wire, brought to one meaning.

Reads and writes stand beside `inputTokens`, so the prompt is the sum of the three
(https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html). `cacheDetails` splits the writes by
lifetime (botocore, bedrock-runtime 2023-09-30, TokenUsage).
"""

from __future__ import annotations

from typing import Any

from hitrate.core.model import Usage
from hitrate.targets.dialects.counts import Counts, token_count
from hitrate.targets.dialects.wire_json import objects_of

_READ = ("usage", "cacheReadInputTokens")
_WRITTEN = ("usage", "cacheWriteInputTokens")
_LIFETIMES = {"5m": "written_5m_tokens", "1h": "written_1h_tokens"}


def read_usage(usage: dict[str, Any]) -> tuple[Usage, str | None]:
    """The usage object of a reply or of a stream's `metadata` event, and what was wrong with it."""
    counts = Counts({"usage": usage})
    cached, cached_source = counts.take_cached(_READ)
    by_lifetime = _writes_by_lifetime(usage, counts)
    found = Usage(
        prompt_tokens=counts.add_up("prompt_tokens", ("usage", "inputTokens"), also=(_READ, _WRITTEN)),
        cached_tokens=cached,
        written_tokens=counts.take("written_tokens", _WRITTEN),
        output_tokens=counts.take("output_tokens", ("usage", "outputTokens")),
        cached_source=cached_source,
        sources=counts.shared_sources(),
        **by_lifetime,
    )
    return found, counts.fault


def _writes_by_lifetime(usage: dict[str, Any], counts: Counts) -> dict[str, int]:
    found: dict[str, int] = {}
    for detail in objects_of(usage.get("cacheDetails")):
        lifetime = detail.get("ttl")
        count = token_count(detail.get("inputTokens"))
        if isinstance(lifetime, str) and lifetime in _LIFETIMES and count is not None:
            figure = _LIFETIMES[lifetime]
            found[figure] = found.get(figure, 0) + count
            counts.sources[figure] = f"usage.cacheDetails[ttl={lifetime}].inputTokens"
    return found
