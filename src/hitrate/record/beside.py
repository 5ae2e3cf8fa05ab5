"""What a response says beside its message: who answered, at which tier, and the vendor's own word on its cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hitrate.core.sse import looks_like_events, split_events
from hitrate.logs.answered import answer_headers, diagnosis_of
from hitrate.targets.dialects.wire_json import object_of, parse_object, text_or_none

_DIAGNOSED = b'diagnostics"'


class Beside(Struct, frozen=True):
    headers: dict[str, str] = {}
    """In the place of response headers, by the names of the members."""
    service_tier: str | None = None
    diagnosis: dict[str, Any] | None = None


def said_beside(body: bytes) -> Beside:
    """`body` without content coding. Nothing in it that cannot be read is a fault here.

    Of a stream only the first and the last event are looked at, where vendors say such things (who answers, which tier
    it was in the end), and those with a diagnosis.
    """
    if body[:1] == b"{":
        return _of_response(parse_object(body)[0] or {})
    if not looks_like_events(body):
        return Beside()
    first, last = _of_response(_holder(_first_event(body))), _of_response(_holder(_last_event(body)))
    diagnosis = None
    if _DIAGNOSED in body:
        events = [parse_object(one.data)[0] for one in split_events([(0, 0, body)]) if _DIAGNOSED in one.data]
        diagnosis = diagnosis_of({"events": events})
    return Beside(first.headers | last.headers, last.service_tier or first.service_tier, diagnosis)


def _of_response(response: Mapping[str, Any]) -> Beside:
    tier = text_or_none(response.get("service_tier"))
    return Beside(answer_headers(response, {}), tier, diagnosis_of(response))


def _holder(event: dict[str, Any]) -> dict[str, Any]:
    """The reply as far as it is known when a stream begins or ends, on the wires that wrap it."""
    return object_of(event.get("response")) or object_of(event.get("message")) or event


def _first_event(body: bytes) -> dict[str, Any]:
    return _object_at(body, body.find(b"{"))


def _last_event(body: bytes) -> dict[str, Any]:
    """The last data line with an object; raw line feeds stand between lines alone."""
    end = len(body)
    for _ in range(4):
        end = body.rfind(b"data:", 0, end)
        if end < 0:
            break
        data = body[end + 5 : end + 8].strip()
        if data.startswith(b"{") and body[end - 1 : end] in (b"\n", b"\r", b""):
            return _object_at(body, body.find(b"{", end))
    return {}


def _object_at(body: bytes, start: int) -> dict[str, Any]:
    if start < 0:
        return {}
    ends = [end for mark in (b"\n", b"\r") if (end := body.find(mark, start)) >= 0]
    return parse_object(body[start : min(ends, default=len(body))])[0] or {}
