"""Who answered a call, and what the vendor itself says of its cache, as far as a log's response holds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hitrate.core.headers import kept_response_headers
from hitrate.core.model import Call

_HOSTS = (
    "host", "hostname", "backend", "backend_host", "backend-host", "replica", "replica_id", "instance", "node", "pod",
    "worker", "worker_id", "server_id", "deployment", "provider", "provider_name", "region", "zone",
    "system_fingerprint",
)  # fmt: skip
"""Members of a response that name who answered, the most particular first."""


_IDS = {"request_id": "request-id", "requestId": "request-id", "x-request-id": "x-request-id"}
"""Members with the id of a request, and the header they stand for."""

_NAMES = frozenset({*_HOSTS, *_IDS})

_HOST_HEADERS = ("fireworks-backend-host", "x-served-by", "x-backend-host", "x-litellm-model-id", "x-compute-region")

_PLACES = ("", "perf_metrics", "metadata")
"""Objects of a response in which these members stand: itself, Fireworks' metrics, a gateway's."""

ANSWER_MEMBERS = frozenset({*_HOSTS, *_IDS, "headers", *_PLACES[1:]})
"""Members of a response, or beside it, that `answer_headers` looks at."""

_DIAGNOSES = ("diagnostics", "cache_diagnostics", "prompt_cache_diagnostics")
"""Anthropic's `diagnostics.cache_miss_reason` and OpenAI's `prompt_cache_diagnostics`, and how logs name the former."""

DIAGNOSIS_MEMBERS = frozenset(_DIAGNOSES)
"""Members of a response, or of its usage, that `diagnosis_of` looks at."""


def answer_headers(response: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, str]:
    """What `Call.response_headers` keeps: the headers of a response, and who answered by the names of its members."""
    found: dict[str, str] = {}
    for holder in (response, record.get("response")):
        headers = holder.get("headers") if isinstance(holder, dict) else None
        if isinstance(headers, dict):
            found |= kept_response_headers((name, text) for name, text in headers.items() if isinstance(text, str))
    for place in _PLACES:
        holder = response.get(place) if place else response
        if isinstance(holder, dict):
            _take_names(holder, found)
    _take_names(record, found)
    return found


def _take_names(holder: Mapping[str, Any], found: dict[str, str]) -> None:
    if _NAMES.isdisjoint(holder):
        return
    for name, value in holder.items():
        if name in _NAMES:
            kept = _IDS.get(name, name)
            if kept not in found and _is_name(value):
                found[kept] = str(value)


def host_of(call: Call) -> str | None:
    """The most particular name of who answered; None where the log has none."""
    if not call.response_headers:
        return None
    names = (*_HOST_HEADERS, *_HOSTS)
    return next((call.response_headers[name] for name in names if name in call.response_headers), None)


def diagnosis_of(response: Mapping[str, Any]) -> dict[str, Any] | None:
    """The vendor's own account of a cache miss, untouched; None where there is none or it is still pending."""
    for holder in _holders(response):
        if DIAGNOSIS_MEMBERS.isdisjoint(holder):
            continue
        for name in _DIAGNOSES:
            if isinstance(found := holder.get(name), dict) and found:
                return found
    return None


def _holders(response: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Objects in which a diagnosis can stand: the reply, its usage, the same in the events of a stream."""
    yield response
    if isinstance(usage := response.get("usage"), dict):
        yield usage
    events = response.get("events")
    for event in events if isinstance(events, list) else ():
        for name in ("message", "response", "delta"):
            if isinstance(event, dict) and isinstance(holder := event.get(name), dict):
                yield from _holders(holder)
        if isinstance(event, dict) and "events" not in event:
            yield event


def _is_name(value: Any) -> bool:
    return (isinstance(value, str) and 0 < len(value) <= 200) or type(value) is int
