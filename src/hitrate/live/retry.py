"""How long a server asked to be left alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

FIRST_BACKOFF_S = 1.0
LONGEST_BACKOFF_S = 30.0

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|d|h|m|s)")
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def wait_before_retry(status: int, headers: Mapping[str, str], *, tries: int, now: float) -> float | None:
    """Seconds to wait after reply number `tries` (from 1) with `status`, or None when trying again is no use.

    `headers` have lower-case names; `now` is Unix time. Taken in this order: `retry-after-ms` (OpenAI, Azure),
    `retry-after` in seconds or as a date (RFC 9110, 10.2.3), the reset time of a used-up `x-ratelimit-*` budget
    ("1m6.5s", OpenAI and Groq). A 429 that says nothing is met with a doubling wait; a 503 that says nothing is not
    a request to come back.
    """
    if status not in (429, 503):
        return None
    asked = _stated_wait(headers, now)
    if asked is not None:
        return max(asked, 0.0)
    return min(FIRST_BACKOFF_S * 2.0 ** (tries - 1), LONGEST_BACKOFF_S) if status == 429 else None


def _stated_wait(headers: Mapping[str, str], now: float) -> float | None:
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    stated = headers.get("retry-after")
    seconds = _number(stated)
    if seconds is not None:
        return seconds
    until = _unix_time(stated)
    if until is not None:
        server_now = _unix_time(headers.get("date"))  # its own clock, where it tells: ours may be off
        return until - (now if server_now is None else server_now)
    resets = [
        _duration(headers.get(f"x-ratelimit-reset-{budget}"))
        for budget in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{budget}", "").strip() == "0"
    ]
    return max((reset for reset in resets if reset is not None), default=None)


def _number(value: str | None) -> float | None:
    return float(value) if value is not None and re.fullmatch(r"\s*\d+(\.\d+)?\s*", value, re.ASCII) else None


def _unix_time(value: str | None) -> float | None:
    try:
        return None if value is None else parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):
        return None


def _duration(value: str | None) -> float | None:
    value = (value or "").strip()
    parts = _DURATION.findall(value)
    if not parts or "".join(number + unit for number, unit in parts) != value:
        return _number(value)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)
