"""An HTTP exchange as a capture tool kept it, as what it tells of a model call.

A capture holds everything that a browser or a program sent: here only calls of models are looked at, told by the path
of the URL and the shape of the body. Of headers those of `core.headers` are kept, and the values of headers, query
parameters and members that carry keys are masked wherever they stand in the bodies.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from hitrate.core.headers import kept_request_headers, kept_response_headers
from hitrate.core.sse import looks_like_events, split_events
from hitrate.logs.json_values import body_of
from hitrate.logs.lines import LONGEST_LINE
from hitrate.logs.providers import model_of_url, target_of_url, wire_of_url
from hitrate.logs.secret_values import SecretValues, cookie_values, mask_members, secrets_of_header, secrets_of_query
from hitrate.logs.shapes import is_request_body
from hitrate.logs.told import Told

_SESSION_HEADERS = (
    "x-claude-code-session-id",
    "session-id",
    "session_id",
    "x-session-id",
    "conversation-id",
    "x-conversation-id",
    "x-grok-conv-id",
)
"""Those of the headers kept that name a conversation."""


class Carried(Struct, kw_only=True):
    """One exchange. `response` is None where no answer came or its body was not kept; `at` is when the request had been
    sent, in Unix time."""

    method: str
    url: str
    request_headers: list[tuple[str, str]]
    request: bytes
    status: int | None = None
    response_headers: list[tuple[str, str]] = []
    response: bytes | None = None
    at: float | None = None
    headers_s: float | None = None
    total_s: float | None = None
    error: str | None = None


def told_of(carried: Carried) -> Told | None:
    """What it says of a model call; None where it is none."""
    wire = wire_of_url(carried.url)
    if carried.method.upper() != "POST" or wire is None:
        return None
    secrets = _secrets(carried)
    doubts: list[str] = []
    request, fault = _plain(carried.request, carried.request_headers, "the request")
    request, found = mask_members(request)
    secrets.add(*found)
    request = secrets.mask(request)
    value, body = body_of(request.decode("utf-8", "surrogateescape"))
    withheld = fault
    if value is None and withheld is None:
        withheld = "the request is not kept" if not request else "the request is no JSON object, or is cut off"
    elif value is not None and not is_request_body(value):
        return None
    headers = kept_request_headers(carried.request_headers)
    response = _response(carried, secrets, doubts)
    return Told(
        request=value,
        body=body,
        withheld=withheld,
        response=response,
        doubts=tuple(doubts),
        wire=wire,
        target=target_of_url(carried.url),
        model=None if value is None or isinstance(value.get("model"), str) else model_of_url(carried.url),
        session=next((headers[name] for name in _SESSION_HEADERS if headers.get(name)), ""),
        at=carried.at,
        headers_s=carried.headers_s,
        total_s=carried.total_s,
        status=carried.status or None,
        error=carried.error or _error(carried, response),
        headers=headers,
        response_headers=kept_response_headers(carried.response_headers),
    )


def _response(carried: Carried, secrets: SecretValues, doubts: list[str]) -> dict[str, Any] | None:
    """The reply body, or the events of the stream; `doubts` gets why there is none."""
    if carried.response is None:
        return None
    data, fault = _plain(carried.response, carried.response_headers, "the answer")
    if fault is not None:
        doubts.append(fault)
        return None
    data = secrets.mask_streamed(data)
    if looks_like_events(data):
        events = [event.data for event in split_events([(0, 0, data)])]
        return {"events": list(_decoded(events))}
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        if data.strip():
            doubts.append("the answer is no JSON and no stream of events that is known here, or is cut off")
        return None
    if isinstance(found, list):  # Gemini's stream without alt=sse is one array
        return {"events": found}
    return found if isinstance(found, dict) else None


def _decoded(events: Iterable[bytes]) -> Iterator[Any]:
    for data in events:
        try:
            yield json.loads(data)
        except (ValueError, RecursionError):
            yield data.decode("utf-8", "replace")  # such as [DONE]


def _error(carried: Carried, response: dict[str, Any] | None) -> str | None:
    """Why there is no reply, where the reply itself does not say."""
    if carried.status is not None and carried.status >= 400 and (response is None or "error" not in response):
        return f"status {carried.status}"
    return None


def _plain(data: bytes, headers: list[tuple[str, str]], what: str) -> tuple[bytes, str | None]:
    """A body without content coding, and why it cannot be read. Some captures undo the coding and keep the header."""
    codings = ",".join(value for name, value in headers if name.lower() == "content-encoding")
    for coding in reversed([name.strip().lower() for name in codings.split(",")]):
        if coding in ("", "identity") or _is_text(data):
            continue
        if coding not in ("gzip", "x-gzip", "deflate"):
            return b"", f"{what} is compressed as {coding[:20]!r}, which is not read here"
        try:
            data = _inflated(data, coding)
        except (zlib.error, EOFError) as error:
            return b"", f"{what} cannot be decompressed: {error}"
    return data, None


def _is_text(data: bytes) -> bool:
    return data.lstrip()[:1] in (b"{", b"[") or looks_like_events(data)


def _inflated(data: bytes, coding: str) -> bytes:
    zlib_window = 15 if data[:1] and data[0] & 0x0F == 8 else -15  # some servers send deflate without its wrapper
    window = zlib_window if coding == "deflate" else 31
    found = b""
    while data:  # a gzip body may have several members
        unpacker = zlib.decompressobj(window)
        found += unpacker.decompress(data, LONGEST_LINE - len(found) + 1)
        if len(found) > LONGEST_LINE:
            raise EOFError(f"it unpacks to more than {LONGEST_LINE:,} bytes")
        if not unpacker.eof and not found:
            raise EOFError("it is cut off")
        data = unpacker.unused_data if unpacker.eof and window == 31 else b""
    return found


def _secrets(carried: Carried) -> SecretValues:
    """Those of headers and the query."""
    secrets = SecretValues()
    for name, value in carried.request_headers:
        secrets.add(*secrets_of_header(_bytes(name.lower()), _bytes(value.strip())))
    for name, value in carried.response_headers:
        if name.lower() == "set-cookie":
            secrets.add(*cookie_values(_bytes(value)))
    secrets.add(*secrets_of_query(_bytes(carried.url)))
    return secrets


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
