"""Headers that carry a key or a cookie. They never reach a store, a journal, a log line or a page."""

from __future__ import annotations

SECRET_HEADERS = frozenset(
    {
        "api-key",
        "authorization",
        "cookie",
        "ocp-apim-subscription-key",
        "proxy-authorization",
        "set-cookie",
        "x-amz-security-token",
        "x-api-key",
        "x-auth-token",
        "x-goog-api-key",
    }
)
"""In lower case."""
