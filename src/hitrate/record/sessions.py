"""Which conversation a request belongs to, by any of the keys that agents, gateways and vendors know.

Where the keys come from: Claude Code's header (since 2.1.86) and both forms of its `metadata.user_id`,
https://github.com/coder/aibridge/pull/241; Codex CLI's `session-id` and older `session_id`, `x-session-id` of OpenCode
and OpenRouter, https://github.com/router-for-me/CLIProxyAPI/issues/4452 and
https://github.com/ai-dynamo/dynamo/blob/main/docs/agents/session-ids.md; the others from the vendors' pages that
`docs/targets` names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

_HEADERS = (
    "x-claude-code-session-id",
    "session-id",
    "session_id",
    "x-opencode-session",
    "x-session-id",
    "conversation-id",
    "x-conversation-id",
    "x-grok-conv-id",
    "x-multi-turn-session-id",
    "x-dynamo-session-id",
    "x-session-affinity",
    "x-session-token",
    "x-smg-routing-key",
    "x-routing-key",
)
"""Those that name a conversation first, then those that name what shares a cache."""

_HEADER_NAMES = frozenset(_HEADERS)

_MEMBERS = ("session_id", "conversation_id", "conversation", "prompt_cache_key")

_LEGACY_MARK = "_session_"
"""In front of the id in `user_{hash}_account_{id}_session_{id}`."""


LONGEST = 512
"""Characters of a key that are kept; OpenRouter takes 256."""


def session_of(headers: Mapping[str, str], body: Mapping[str, Any] | None) -> str:
    """The most particular key there is; "" for none. Header names in lower case."""
    return _named(headers, body or {})[:LONGEST]


def _named(headers: Mapping[str, str], body: Mapping[str, Any]) -> str:
    if not _HEADER_NAMES.isdisjoint(headers):
        for name in _HEADERS:
            if value := headers.get(name, "").strip():
                return value
    metadata = body.get("metadata")
    return (
        (_of_metadata(metadata) if isinstance(metadata, dict) else "")
        or next((key for name in _MEMBERS if (key := _key(body.get(name)))), "")
        or (_key(metadata.get("user_id")) if isinstance(metadata, dict) else "")
        or _key(body.get("user"))
        or headers.get("x-user-id", "").strip()
    )


def _of_metadata(metadata: Mapping[str, Any]) -> str:
    """Members of `metadata` that name a conversation. A user id that does not is of no use here."""
    for name in ("session_id", "sessionId", "conversation_id", "thread_id"):
        if key := _key(metadata.get(name)):
            return key
    user = metadata.get("user_id")
    if isinstance(user, str):
        if user.startswith("{"):
            try:
                user = msgspec.json.decode(user)
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                return ""
        else:
            return user.rpartition(_LEGACY_MARK)[2] if _LEGACY_MARK in user else ""
    return _key(user.get("session_id")) if isinstance(user, dict) else ""


def _key(value: Any) -> str:
    """A key may be text, a number, or an object with its id (a conversation of the Responses wire)."""
    if isinstance(value, dict):
        value = value.get("id")
    if isinstance(value, str):
        return value.strip()
    return str(value) if type(value) is int else ""
