"""Operations, providers and servers as OpenTelemetry's conventions call them."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import urlsplit

from hitrate.errors import HitrateError
from hitrate.targets.presets import load

_OPERATIONS = {"gemini-generate": "generate_content", "llamacpp-completion": "text_completion"}
"""By wire; "chat" on the others."""

_PROVIDERS = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "gemini-openai": "gcp.gemini",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "openai-responses": "openai",
    "xai": "x_ai",
}
"""Well-known values of `gen_ai.provider.name` that differ from the target's name."""

_FLAVOURS = {
    "anthropic-messages": "anthropic",
    "bedrock-converse": "aws.bedrock",
    "gemini-generate": "gcp.gemini",
}
"""What tells the form of the telemetry where a target is a base URL; "openai" on the other wires."""


def operation_of(dialect: str) -> str:
    return _OPERATIONS.get(dialect, "chat")


def provider_of(target: str, dialect: str) -> str:
    if "://" in target:
        return _FLAVOURS.get(dialect, "openai")
    return _PROVIDERS.get(target, target)


@lru_cache(maxsize=256)
def server_of(target: str) -> tuple[str | None, int | None]:
    """Host and port of a base URL, or of that of a target."""
    try:
        url = target if "://" in target else load(target).base_url
        parts = urlsplit(url or "")
        return parts.hostname, parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    except (HitrateError, ValueError):
        return None, None
