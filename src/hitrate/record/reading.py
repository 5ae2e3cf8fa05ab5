"""An exchange made into a `Call`: which wire it is on, what was asked and answered, and when."""

from __future__ import annotations

from typing import Any

import msgspec

from hitrate.core.headers import kept_request_headers, kept_response_headers
from hitrate.core.model import Call, Timing
from hitrate.record.beside import said_beside
from hitrate.record.endpoints import Endpoint, endpoint_of, wire_of
from hitrate.record.exchange import Exchange
from hitrate.record.sessions import session_of
from hitrate.targets.answers import Outcome, Reads, one_line, read_answer
from hitrate.targets.content_coding import Unreadable, unpacked
from hitrate.targets.dialects import dialect
from hitrate.targets.dialects.header_counts import with_header_counts
from hitrate.targets.dialects.wire_json import parse_object, text_or_none


def call_of(exchange: Exchange) -> Call | None:
    """None where it is no call of a model. Never raises: what cannot be read is said in `Call.error`."""
    endpoint = endpoint_of(exchange.method, exchange.path)
    if endpoint is None:
        return None
    body, request_fault = _request_body(exchange)
    asked = _asked(body, endpoint)
    wire = wire_of(endpoint, asked)
    if wire is None:
        return None
    outcome = read_answer(
        exchange.status,
        exchange.response_headers,
        exchange.response_body,
        _reads(exchange),
        _fault(exchange),
        dialect(wire),
    )
    reading = outcome.reading
    is_whole = _was_left_at_its_end(exchange, outcome)
    beside = said_beside(outcome.body, outcome.events)
    raw_usage = reading.raw_usage
    if beside.service_tier is not None:
        raw_usage = {"service_tier": beside.service_tier, **(raw_usage or {})}
    return Call(
        target=exchange.upstream,
        dialect=wire,
        body=body,
        model=text_or_none((asked or {}).get("model"))
        or endpoint.model
        or (reading.reply.model if reading.reply else None),
        session=session_of(exchange.request_headers, asked),
        headers=kept_request_headers(exchange.request_headers.items()),
        status=exchange.status,
        usage=with_header_counts(reading.usage, exchange.response_headers),
        timing=_timing(exchange, outcome, is_whole),
        reply=reading.reply,
        response_headers=beside.headers | kept_response_headers(exchange.response_headers.items()),
        error=request_fault if is_whole else _error(exchange, outcome, request_fault),
        raw_usage=raw_usage,
        diagnosis=beside.diagnosis,
    )


class _Asked(msgspec.Struct):
    """What is read of a request when the path has said which wire it is on; its messages are only gone over."""

    model: Any = None
    metadata: Any = None
    session_id: Any = None
    conversation_id: Any = None
    conversation: Any = None
    prompt_cache_key: Any = None
    user: Any = None


_decode_asked = msgspec.json.Decoder(_Asked).decode


def _asked(body: bytes, endpoint: Endpoint) -> dict[str, Any] | None:
    """The members of a request body; None where it is no object."""
    if endpoint.dialect is not None:
        try:
            return msgspec.structs.asdict(_decode_asked(body))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            pass
    return parse_object(body)[0]


def _request_body(exchange: Exchange) -> tuple[bytes, str | None]:
    coding = exchange.request_headers.get("content-encoding", "")
    try:
        return (unpacked(exchange.request_body, coding) if coding else exchange.request_body), None
    except Unreadable as error:
        return exchange.request_body, one_line(f"the request cannot be read: {error}")


def _reads(exchange: Exchange) -> Reads:
    known = exchange.reads[-1][0] if exchange.reads else 0
    if known >= len(exchange.response_body):
        return exchange.reads
    return [*exchange.reads, (len(exchange.response_body), exchange.total_ns or 0)]  # no moments were noted for it


def _error(exchange: Exchange, outcome: Outcome, request_fault: str | None) -> str | None:
    if exchange.left_out:
        return (
            f"{exchange.left_out:,} bytes of the request and the reply were not kept, being over the limit of one call"
        )
    return outcome.error or request_fault


def _fault(exchange: Exchange) -> str | None:
    if exchange.end == "complete":
        return None
    return one_line(exchange.error) if exchange.error else exchange.end


def _was_left_at_its_end(exchange: Exchange, outcome: Outcome) -> bool:
    """Clients leave a stream at its end mark, or where the counts were told, without waiting for the connection."""
    if exchange.end != "abandoned" or exchange.left_out or outcome.reading.fault is not None:
        return False
    told = outcome.reading.usage.prompt_tokens is not None or _END_MARK in outcome.body[-len(_END_MARK) - 8 :]
    return outcome.reading.reply is not None and outcome.reading.complete and told


_END_MARK = b"data: [DONE]"
"""Of OpenAI's streams (https://platform.openai.com/docs/api-reference/chat-streaming), which may tell no counts."""


def _timing(exchange: Exchange, outcome: Outcome, is_whole: bool) -> Timing:
    first_ns, first_read_tokens = outcome.first_token() or (None, 0)
    reading = outcome.reading
    with_content = reading.first_content == reading.first_token
    return Timing(
        at=exchange.at,
        sent_at_s=exchange.sent_at_s,
        connect_s=exchange.connect_s,
        headers_s=_seconds(exchange.headers_ns),
        ttft_s=_seconds(first_ns),
        first_content_s=_seconds(first_ns if with_content else outcome.first_content_ns()),
        total_s=_seconds(exchange.total_ns) if is_whole or exchange.end == "complete" else None,
        first_read_tokens=first_read_tokens,
    )


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9
