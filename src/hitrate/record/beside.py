"""What a response says beside its message: who answered, at which tier, and the vendor's own word on its cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from hitrate.core.model import StreamEvent
from hitrate.core.sse import looks_like_events, split_events
from hitrate.logs.answered import ANSWER_MEMBERS, answer_headers, diagnosis_of
from hitrate.targets.dialects.wire_json import object_of, parse_object, text_or_none

_DIAGNOSED = b'diagnostics"'

_TOLD = (*sorted(ANSWER_MEMBERS), "service_tier", "response", "message")
"""Members that are read of an event."""

_Told = msgspec.defstruct(
    "_Told",
    [(f"member_{number}", Any, msgspec.field(name=name, default=None)) for number, name in enumerate(_TOLD)],
)
_NOTHING_TOLD = _Told()
_decode_told = msgspec.json.Decoder(_Told).decode


class Beside(Struct, frozen=True):
    headers: dict[str, str] = {}
    """In the place of response headers, by the names of the members."""
    service_tier: str | None = None
    diagnosis: dict[str, Any] | None = None


def said_beside(body: bytes, events: Sequence[StreamEvent] = ()) -> Beside:
    """`body` is without content coding, `events` what was found in it if it is a stream of server-sent events. Nothing
    in it that cannot be read is a fault here.

    Of a stream only the first and the last event are looked at, where vendors say such things (who answers, which tier
    it was in the end), and those with a diagnosis.
    """
    if body[:1] == b"{":
        response = parse_object(body)[0] or {}
        return Beside(answer_headers(response, {}), _tier(response), diagnosis_of(response))
    if not looks_like_events(body):
        return Beside()
    events = events or split_events([(0, 0, body)])
    if not events:
        return Beside()
    first = _holder(_told(events[0].data))
    last = next((_holder(_told(one.data)) for one in events[:-5:-1] if one.data.startswith(b"{")), {})
    diagnosis = None
    if _DIAGNOSED in body:
        told = [parse_object(one.data)[0] for one in events if _DIAGNOSED in one.data]
        diagnosis = diagnosis_of({"events": told})
    headers = {**(answer_headers(first, {}) if first else {}), **(answer_headers(last, {}) if last else {})}
    return Beside(headers, _tier(last) or _tier(first), diagnosis)


def _tier(response: Mapping[str, Any]) -> str | None:
    return text_or_none(response.get("service_tier"))


def _holder(event: dict[str, Any]) -> dict[str, Any]:
    """The reply as far as it is known when a stream begins or ends, on the wires that wrap it."""
    return object_of(event.get("response")) or object_of(event.get("message")) or event


def _told(event: bytes) -> dict[str, Any]:
    """An object with the members of the event's that are read and not null; an empty one where it cannot be read."""
    try:
        told = _decode_told(event)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return parse_object(event)[0] or {}
    if told == _NOTHING_TOLD:
        return {}
    values = zip(_TOLD, msgspec.structs.astuple(told), strict=True)
    return {name: value for name, value in values if value is not None}
