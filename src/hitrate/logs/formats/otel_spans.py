"""The spans in what exporters of OpenTelemetry write: OTLP in JSON, Jaeger, and objects of their own.

OTLP: https://github.com/open-telemetry/opentelemetry-proto, opentelemetry/proto/trace/v1/trace.proto; its JSON has
64-bit integers as strings. Jaeger: `{"data": [{"spans": [{"tags": [{"key", "type", "value"}], "startTime": µs}]}]}`
(https://github.com/jaegertracing/jaeger, internal/uimodel/model.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hitrate.logs.pairs import unix_time

HOLDERS = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")
"""Members of an OTLP request."""

_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "scopeLogs", "scope_logs")
_LISTS = ("spans", "logRecords", "log_records")
_STARTS = ("startTimeUnixNano", "start_time_unix_nano", "timeUnixNano", "start_time", "startTime", "timestamp")
_ENDS = ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime")

_ERROR_CODES = (2, "2", "ERROR", "STATUS_CODE_ERROR", "Error")


class Span(Struct, frozen=True):
    """A span, or a log record that stands for a call, whatever it was written down in."""

    name: str
    attributes: Mapping[str, Any]
    events: Sequence[tuple[str, Mapping[str, Any]]] = ()
    own_id: str = ""
    parent_id: str = ""
    start: float | None = None
    end: float | None = None
    error: str | None = None


def spans_in(value: Any) -> Iterator[Span]:
    """Every span of a document or line, in the order in which it stands there; what is none is passed over."""
    if isinstance(value, list):
        for one in value:
            yield from spans_in(one)
    elif isinstance(value, dict):
        below = [value[name] for name in (*HOLDERS, *_SCOPES, *_LISTS, "data") if isinstance(value.get(name), list)]
        if below:
            for one in below:
                yield from spans_in(one)
        elif isinstance(value.get("attributes", value.get("tags")), dict | list):
            yield _span(value)


def _span(value: Mapping[str, Any]) -> Span:
    attributes = attributes_of(value.get("attributes", value.get("tags")))
    start, end = _first_time(value, _STARTS), _first_time(value, _ENDS)
    duration = value.get("duration")
    if end is None and start is not None and type(duration) is int and "tags" in value:
        end = start + duration / 1e6
    context = _object(value.get("context"))
    return Span(
        name=str(value.get("name") or value.get("operationName") or value.get("eventName") or ""),
        attributes=attributes,
        events=[_event(one) for one in _objects(value.get("events") or value.get("logs"))],
        own_id=_text({**context, **value}, ("spanId", "span_id", "spanID")),
        parent_id=_text(value, ("parentSpanId", "parent_span_id", "parent_id", "parentSpanID"))
        or _jaeger_parent(value),
        start=start,
        end=None if end is None or (start is not None and end < start) else end,
        error=_error(value, attributes),
    )


def attributes_of(value: Any) -> dict[str, Any]:
    """Of a mapping, OTLP's list of keys with typed values, or Jaeger's tags."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    found = {}
    for one in _objects(value):
        if isinstance(one.get("key"), str):
            found[one["key"]] = _plain(one.get("value"))
    return found


def _plain(value: Any) -> Any:
    """An OTLP value without its type; anything else as it is."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    (name, held), *_ = value.items()
    match name:
        case "intValue" | "int_value":
            return int(held) if str(held).lstrip("-").isdigit() else held
        case (
            "stringValue" | "doubleValue" | "boolValue" | "bytesValue" | "string_value" | "double_value" | "bool_value"
        ):
            return held
        case "arrayValue" | "array_value":
            listed = held.get("values") if isinstance(held, dict) else None
            return [_plain(one) for one in listed] if isinstance(listed, list) else []
        case "kvlistValue" | "kvlist_value":
            return attributes_of(held.get("values") if isinstance(held, dict) else None)
    return value


def _event(value: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    fields = attributes_of(value.get("attributes", value.get("fields")))
    return str(value.get("name") or fields.get("event") or fields.get("event.name") or ""), fields


def _first_time(value: Mapping[str, Any], names: Sequence[str]) -> float | None:
    for name in names:
        found = value.get(name)
        if isinstance(found, str) and found.isdigit():
            found = int(found)
        if isinstance(found, list) and len(found) == 2 and all(type(one) is int for one in found):
            found = found[0] + found[1] / 1e9  # JavaScript's exporters: seconds and nanoseconds
        if (at := unix_time(found)) is not None:
            return at
    return None


def _jaeger_parent(value: Mapping[str, Any]) -> str:
    for one in _objects(value.get("references")):
        if one.get("refType") == "CHILD_OF":
            return str(one.get("spanID") or "")
    return ""


def _text(value: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((value[name] for name in names if isinstance(value.get(name), str)), "")


def _error(value: Mapping[str, Any], attributes: Mapping[str, Any]) -> str | None:
    status = _object(value.get("status"))
    code = status.get("code", status.get("status_code", attributes.get("otel.status_code")))
    if code not in _ERROR_CODES and "error.type" not in attributes:
        return None
    said = status.get("message") or status.get("description") or attributes.get("error.type")
    return str(said or "the span has the status of an error")[:200]


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
