"""Flow dumps of mitmproxy (`mitmdump -w FILE`): typed netstrings one after the other, each an object with a flow.

Read are `request` and `response` with their timestamps and bodies. Over the versions of the format (mitmproxy/io/
compat.py lists each change) the body was `content`, in version 0.14 and 0.15 `body`, the status `code` before 0.14, and
names were bytes before 0.18; headers have been pairs of bytes throughout. Host, port and path are the request's own.
mitmproxy writes a flow when its answer has ended, so flows stand in the order of their ends.

By default mitmproxy takes in a whole answer before it passes it on; moments of single events are not in the dump.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from hitrate.core.records import Skipped
from hitrate.logs.carried import Carried, told_of
from hitrate.logs.in_order import in_order
from hitrate.logs.interface import Item, ReplyReader
from hitrate.logs.lines import LONGEST_LINE
from hitrate.logs.tnetstrings import NotTyped, members, netstrings
from hitrate.logs.told import LeftOut, calls_told, number

_WANTED = frozenset({"type", "request", "response", "error"})
_LONGEST_FLOW = 2 * LONGEST_LINE
_STARTS = re.compile(rb"\s*\d{1,12}:\d{1,4}:[a-z_]{1,40}[,;]")
"""A length, and the name of the object's first member as a netstring."""


class Mitmproxy:
    name = "mitmproxy"
    about = "flow dump of mitmproxy; its calls of models"

    def matches(self, head: bytes, path: str) -> bool:
        return _STARTS.match(head) is not None

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        yield from in_order(_items(stream, read_reply))


def _items(stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
    left_out = LeftOut()
    for index, data in netstrings(stream, _LONGEST_FLOW):
        if isinstance(data, Skipped):
            yield data
            continue
        try:
            flow = members(data, _WANTED)
        except NotTyped as fault:
            yield Skipped(line=index, reason=f"flow {index}: {fault}")
            continue
        if not isinstance(flow.get("request"), dict):
            left_out.add(index, "flows that are no HTTP")
            continue
        told = told_of(_carried(flow, flow["request"]))
        if told is None:
            left_out.add(index, "other requests than calls of models")
        else:
            yield from calls_told(told, read_reply, index)
    yield from left_out.remarks()


def _carried(flow: dict[str, Any], request: dict[str, Any]) -> Carried:
    answer = flow.get("response")
    response: dict[str, Any] = answer if isinstance(answer, dict) else {}
    sent = number(request.get("timestamp_end")) or number(request.get("timestamp_start")) or None
    status = response.get("status_code", response.get("code"))
    error = flow.get("error")
    return Carried(
        method=_text(request.get("method")),
        url=_url(request),
        request_headers=_headers(request),
        request=_content(request) or b"",
        status=status if type(status) is int else None,
        response_headers=_headers(response),
        response=_content(response),
        at=sent,
        headers_s=_after(response.get("timestamp_start"), sent),
        total_s=_after(response.get("timestamp_end"), sent),
        error=_text(error.get("msg")) if isinstance(error, dict) else (None if response else "no answer came"),
    )


def _url(request: dict[str, Any]) -> str:
    """Where the request went; behind a proxy the host header or the authority says more than the address."""
    named = {name.lower(): value for name, value in _headers(request)}.get("host")
    host = _text(request.get("authority")) or named or _text(request.get("host"))
    scheme = _text(request.get("scheme")) or "https"
    path = _text(request.get("path"))
    return f"{scheme}://{host}{path if path.startswith('/') else '/' + path}"


def _content(message: dict[str, Any]) -> bytes | None:
    found = message.get("content", message.get("body"))
    return found if isinstance(found, bytes) else None


def _headers(message: dict[str, Any]) -> list[tuple[str, str]]:
    pairs = message.get("headers")
    return [
        (_text(pair[0]), _text(pair[1]))
        for pair in (pairs if isinstance(pairs, list) else ())
        if isinstance(pair, list) and len(pair) == 2
    ]


def _after(moment: Any, sent: float | None) -> float | None:
    found = number(moment)
    return None if found is None or sent is None else found - sent


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return value if isinstance(value, str) else ""
