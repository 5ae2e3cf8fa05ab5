"""Read a reply whose wire format a log names, or does not name and its shape gives away.

The dialects and their usage readers do the reading; here is only decided whose a reply is. A log may hold the usage of
a reply alone, so a reply without a message is no fault here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from hitrate.core import usage_plans
from hitrate.core.model import REPEATED_TOTALS, Reading, StreamEvent, Usage
from hitrate.core.usage_plans import UsagePlans
from hitrate.targets.dialects import (
    anthropic_usage,
    bedrock_usage,
    dialect,
    gemini_usage,
    llamacpp_completion,
    openai_responses_usage,
    openai_usage,
)
from hitrate.targets.dialects.counts import Counts
from hitrate.targets.dialects.wire_json import error_text, object_of, to_json

UsageReader = Callable[[dict[str, Any]], tuple[Usage, str | None]]

AGENT_USAGE = "pi"
"""Not a wire: the accounting of the coding agent pi, one for all vendors, with reads and writes beside `input`."""

_STANDARD_CACHED = {
    "openai-chat": ("usage.prompt_tokens_details.cached_tokens",),
    "openai-responses": ("usage.input_tokens_details.cached_tokens",),
    "anthropic-messages": ("usage.cache_read_input_tokens",),
    "gemini-generate": ("usageMetadata.cachedContentTokenCount", "usage.total_cached_tokens"),
    "bedrock-converse": ("usage.cacheReadInputTokens",),
    "llamacpp-completion": ("timings.cache_n",),
    AGENT_USAGE: ("usage.cacheRead",),
}

_INPUT_COUNTERS = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "prompt_tokens",
    "promptTokenCount",
    "inputTokens",
    "cacheReadInputTokens",
)

_CONTENT = ("choices", "content", "output", "candidates", "steps")
"""Members that hold a reply's message on some wire."""

_BY_USAGE_MEMBER = (
    ("prompt_tokens", "openai-chat"),
    ("completion_tokens", "openai-chat"),
    ("prompt_tokens_details", "openai-chat"),
    ("prompt_cache_hit_tokens", "openai-chat"),
    ("input_tokens_details", "openai-responses"),
    ("cache_read_input_tokens", "anthropic-messages"),
    ("cache_creation_input_tokens", "anthropic-messages"),
    ("total_input_tokens", "gemini-generate"),
    ("cacheReadInputTokens", "bedrock-converse"),
    ("cacheWriteInputTokens", "bedrock-converse"),
    ("cacheRead", AGENT_USAGE),
)
"""The first that is there decides. Chat first: MiniMax and DashScope put Anthropic's counters beside chat's totals."""

_BY_EVENT_TYPE = (
    ("message_", "anthropic-messages"),
    ("content_block", "anthropic-messages"),
    ("response.", "openai-responses"),
)


def read_reply(response: dict[str, Any], named: str | None) -> tuple[str | None, Reading]:
    """The wire format of a response and what it says; as `hitrate.logs.interface.ReplyReader`.

    The format the log names is believed as long as it finds token counts in a reply that holds any.
    """
    shape = usage_plans.shape_of(response, named)
    known = None if shape is None else _plans.read(shape)
    if known is not None:
        return known[0], Reading(reply=None, usage=known[1], raw_usage=_raw_usage(response))
    name, reading = _read_reply(response, named)
    if shape is not None and name is not None and reading.fault is None:
        _plans.learn(shape, response, name, reading.usage)
    return name, reading


_plans = UsagePlans()
"""Of the whole program: they say of a shape of replies what reading one would say."""


def _read_reply(response: dict[str, Any], named: str | None) -> tuple[str | None, Reading]:
    if isinstance(response.get("events"), list):
        return _read_events(response["events"], named)
    shape = shape_of(response)
    name = named if named in _USAGE else shape
    if name is None:
        return None, Reading(reply=None, usage=Usage(), fault=error_text(response))
    reading = _read(response, name)
    if reading.usage.prompt_tokens is None and shape not in (None, name):
        name = shape
        reading = _read(response, name)  # type: ignore[arg-type]
    return name, reading


def standard_cached_sources(name: str) -> tuple[str, ...]:
    """Where the vendor that made a wire puts cached tokens, as in `Usage.cached_source`; () for an unknown wire.

    A program that reads only these places sees no cache on a server that puts them elsewhere.
    """
    return _STANDARD_CACHED.get(name, ())


def shape_of(response: dict[str, Any]) -> str | None:
    """The wire format that a reply or its usage looks like; None where none of the known ones fits for certain."""
    if "usageMetadata" in response or "candidates" in response:
        return "gemini-generate"
    usage = object_of(response.get("usage"))
    for member, name in _BY_USAGE_MEMBER:
        if member in usage:
            return name
    if "input_tokens" in usage:  # Messages and Responses, which differ only where a cache is reported
        return (
            "openai-responses" if response.get("object") == "response" or "output" in response else "anthropic-messages"
        )
    if "inputTokens" in usage and "cachedInputTokens" not in usage:
        return "bedrock-converse"
    if "choices" in response or "x_groq" in response:
        return "openai-chat"
    return "llamacpp-completion" if "timings" in response else None


def _read(response: dict[str, Any], name: str) -> Reading:
    if name != AGENT_USAGE and any(member in response for member in _CONTENT):
        return dialect(name).read_body(to_json(response))
    usage, fault = _USAGE[name](response)
    return Reading(reply=None, usage=usage, raw_usage=_raw_usage(response), fault=error_text(response) or fault)


def _raw_usage(response: dict[str, Any]) -> dict[str, Any] | None:
    raw = response.get("usage", response.get("usageMetadata"))
    return raw if isinstance(raw, dict) else None


def _read_events(events: list[Any], named: str | None) -> tuple[str | None, Reading]:
    name = named if named in _USAGE else next(filter(None, map(_shape_of_event, events)), None)
    if name is None or name == AGENT_USAGE:
        return None, Reading(reply=None, usage=Usage(), fault="the events of the stream are in no known format")
    wire = [event.encode("utf-8", "replace") if isinstance(event, str) else to_json(event) for event in events]
    parts = [StreamEvent(0, index, data.removeprefix(b"data:").strip()) for index, data in enumerate(wire)]
    reading = dialect(name).read_stream(parts)
    totals = [found for event in events if (found := _input_totals(event)) is not None]
    if len(totals) > 1:
        sources = {**reading.usage.sources, REPEATED_TOTALS: ", ".join(dict.fromkeys(totals))}
        reading = replace(reading, usage=replace(reading.usage, sources=sources))
    return name, reading


def _input_totals(event: Any) -> str | None:
    """The path of an event's usage, with its type, where an input counter in it is not zero.

    Not Gemini's: every chunk of its streams has the totals so far, and its readers know.
    """
    if not isinstance(event, dict):
        return None
    for member, path in (("", ""), ("message", "message."), ("response", "response.")):
        holder = object_of(event.get(member)) if member else event
        usage = object_of(holder.get("usage"))
        if any(type(usage.get(counter)) is int and usage[counter] > 0 for counter in _INPUT_COUNTERS):
            return f"{event.get('type', 'chunk')}: {path}usage"
    return None


def _shape_of_event(event: Any) -> str | None:
    if not isinstance(event, dict):
        return None
    kind = str(event.get("type", ""))
    return next((name for start, name in _BY_EVENT_TYPE if kind.startswith(start)), None) or shape_of(event)


def _agent_usage(response: dict[str, Any]) -> tuple[Usage, str | None]:
    counts = Counts(response)
    cached, cached_source = counts.take_cached(("usage", "cacheRead"))
    written = ("usage", "cacheWrite")
    found = Usage(
        prompt_tokens=counts.add_up("prompt_tokens", ("usage", "input"), also=(("usage", "cacheRead"), written)),
        cached_tokens=cached,
        written_tokens=counts.take("written_tokens", written),
        output_tokens=counts.take("output_tokens", ("usage", "output")),
        cached_source=cached_source,
        sources=counts.shared_sources(),
    )
    return found, counts.fault


def _of_usage(read: UsageReader) -> UsageReader:
    return lambda response: read(object_of(response.get("usage")))


_USAGE: dict[str, UsageReader] = {
    "openai-chat": openai_usage.read_usage,
    "openai-responses": _of_usage(openai_responses_usage.read_usage),
    "anthropic-messages": _of_usage(anthropic_usage.read_usage),
    "gemini-generate": gemini_usage.read_usage,
    "bedrock-converse": _of_usage(bedrock_usage.read_usage),
    "llamacpp-completion": llamacpp_completion.read_usage,
    AGENT_USAGE: _agent_usage,
}
