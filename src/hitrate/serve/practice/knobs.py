"""What of a request names its session and what parts its cache, in the server's own manner and in a vendor's."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from hitrate.serve.practice.vendors import Vendor
from hitrate.serve.practice.wire import PracticeRequest
from hitrate.targets.dialects.prompt_builder import NAMESPACE_KNOBS

AFFINITY_HEADERS = (
    "x-session-affinity",
    "x-session-id",
    "x-session-token",
    "x-smg-routing-key",
    "x-routing-key",
    "x-dynamo-session-id",
    "x-claude-code-session-id",
    "x-grok-conv-id",
    "session-id",
    "session_id",
    "conversation-id",
)
"""Headers that name a session, the one that wins first. Members of the body win over all of them."""


def affinity_of(request: PracticeRequest, headers: Mapping[str, str], vendor: Vendor | None) -> str | None:
    """The session's key. A vendor's server looks at its own knobs alone; the practice server's own at all of them."""
    if vendor is None:
        return request.prompt.affinity or next(filter(None, map(headers.get, AFFINITY_HEADERS)), None)
    for knob in vendor.affinity:
        place, _, name = knob.partition(":")
        value = request.sent.get(name) if place == "body" else headers.get(name)
        if isinstance(value, str | int) and value != "":
            return str(value)
    return None


def namespace_of(request: PracticeRequest, vendor: Vendor | None) -> tuple[str, ...]:
    """What has to be equal for two requests to share a cache: the model, and the members that part it."""
    own = request.prompt.namespace[1:]
    if vendor is None:
        return (request.model, *own)
    salts = tuple(f"{knob}=" for knob in NAMESPACE_KNOBS)
    parts = [part for part in own if not part.startswith(salts)]
    for path in vendor.isolation:
        value: Any = request.sent
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if value not in (None, ""):
            parts.append(f"{path}={value}")
    return (request.model, *parts)


def with_settings(tokens: list[int], start: int, settings: str) -> list[int]:
    """The ids from `start` on as other ids, as many of them, where settings change what a cache keeps of them."""
    if not settings:
        return tokens
    shift = int.from_bytes(hashlib.blake2b(settings.encode("utf-8", "surrogatepass"), digest_size=3).digest(), "big")
    # Above every vocabulary and the marks of a template, within 64 bits.
    return [*tokens[:start], *(token + ((shift + 1) << 32) for token in tokens[start:])]
