"""Which HTTP headers a `Call` may hold: those that bear on caching, routing and diagnosis, by an explicit list.

Anything not listed is dropped, so that a key, a cookie or a vendor's signed token cannot get into a store by having
an unforeseen name. Names come back in lower case; of a repeated header the last value stays.
"""

from __future__ import annotations

from collections.abc import Iterable

REQUEST_HEADERS = frozenset(
    {
        # affinity and cache isolation, as spelled by vendors, routers and agents
        "conversation-id",
        "session-id",
        "session_id",
        "x-claude-code-session-id",
        "x-conversation-id",
        "x-dynamo-session-id",
        "x-grok-conv-id",
        "x-multi-turn-session-id",
        "x-opencode-session",
        "x-routing-key",
        "x-session-affinity",
        "x-session-id",
        "x-session-token",
        "x-smg-routing-key",
        "x-user-id",
        # what decides on protocol features that change the prompt or the cache
        "anthropic-beta",
        "anthropic-version",
        "openai-beta",
        "user-agent",
        # which adapter of a model answers
        "x-adapter-id",
        "x-lora-adapter",
        "x-lora-id",
        "x-lora-name",
        # correlation
        "x-correlation-id",
        "x-request-id",
    }
)

RESPONSE_HEADERS = frozenset(
    {
        "age",
        "apim-request-id",
        "cache-control",
        "cf-cache-status",
        "cf-ray",
        "content-encoding",
        "content-type",
        "date",
        "openai-model",
        "openai-processing-ms",
        "openai-version",
        "request-id",
        "retry-after",
        "retry-after-ms",
        "server",
        "server-timing",
        "via",
        "x-amzn-requestid",
        "x-cache",
        "x-cache-hit",
        "x-envoy-upstream-service-time",
        "x-litellm-cache-key",
        "x-litellm-call-id",
        "x-litellm-model-id",
        "x-request-id",
        "x-served-by",
        "x-session-id",
        "x-session-token",
    }
)

RESPONSE_PREFIXES = (
    "anthropic-ratelimit-",
    "fireworks-",
    "x-compute-",
    "x-groq-",
    "x-hitrate-",
    "x-ms-",
    "x-ratelimit-",
)


def kept_request_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    lowered = ((name.lower(), value) for name, value in headers)
    return {name: value for name, value in lowered if name in REQUEST_HEADERS or name.startswith("x-hitrate-")}


def kept_response_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    lowered = ((name.lower(), value) for name, value in headers)
    return {name: value for name, value in lowered if name in RESPONSE_HEADERS or name.startswith(RESPONSE_PREFIXES)}
