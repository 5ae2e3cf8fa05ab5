"""HAR: what a browser's developer tools or a capturing proxy export of HTTP traffic, as one JSON document.

`log.entries[]` with `startedDateTime`, `request` (method, url, headers, postData.text), `response` (status, headers,
content.text, in base64 where `content.encoding` says so) and `timings` in milliseconds, -1 for a phase that was not
(http://www.softwareishard.com/blog/har-12-spec/). Entries need not stand in the order of time. Content may be left out,
of large bodies above all; Chrome leaves out headers with keys unless it is asked for them, other tools do not.

A capture holds no moments of single events, so there is no time to first token: `wait` ends with the first byte.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any, BinaryIO

from hitrate.core.records import Skipped
from hitrate.logs.carried import Carried, told_of
from hitrate.logs.in_order import in_order
from hitrate.logs.interface import Item, ReplyReader
from hitrate.logs.json_values import Row
from hitrate.logs.lines import opening
from hitrate.logs.own_counts import count
from hitrate.logs.pairs import unix_time
from hitrate.logs.shapes import kind
from hitrate.logs.tables import rows
from hitrate.logs.told import LeftOut, calls_told, number, text

_ENTRIES = (("log", "entries"),)
_BEFORE_SENT = ("blocked", "dns", "connect", "send")
"""Phases until the request was sent; `ssl` is part of `connect`."""


class Har:
    name = "har"
    about = "HAR of a browser or a capturing proxy; its calls of models"

    def matches(self, head: bytes, path: str) -> bool:
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        return start.startswith(b"{") and opening(start).get("log") == {} and b'"entries"' in start

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        yield from in_order(_items(stream, read_reply))


def _items(stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
    left_out = LeftOut()
    for row in rows(stream, _ENTRIES):
        if isinstance(row, Skipped):
            yield row
            continue
        yield from row.remarks
        yield from _entry(row, read_reply, left_out)
    yield from left_out.remarks()


def _entry(row: Row, read_reply: ReplyReader, left_out: LeftOut) -> Iterator[Item]:
    entry = row.value
    request = entry.get("request") if isinstance(entry, dict) else None
    if not isinstance(request, dict) or not isinstance(request.get("url"), str):
        yield Skipped(line=row.line, reason=f"an entry without a request, {kind(entry)}; expected an entry of a HAR")
        return
    told = told_of(_carried(entry, request))
    if told is None:
        left_out.add(row.line, "other requests than calls of models")
    else:
        yield from calls_told(told, read_reply, row.line)


def _carried(entry: dict[str, Any], request: dict[str, Any]) -> Carried:
    response = _object(entry.get("response"))
    timings = _object(entry.get("timings"))
    started = unix_time(entry.get("startedDateTime"))
    wait, receive = (_milliseconds(timings.get(name)) for name in ("wait", "receive"))
    status = count(response.get("status")) or None
    return Carried(
        method=text(request.get("method")),
        url=request["url"],
        request_headers=_headers(request),
        request=_bytes(_object(request.get("postData"))) or b"",
        status=status,
        response_headers=_headers(response),
        response=_bytes(_object(response.get("content"))),
        at=None if started is None else started + sum(_milliseconds(timings.get(name)) or 0.0 for name in _BEFORE_SENT),
        headers_s=wait,
        total_s=None if wait is None or receive is None else wait + receive,
        error=text(response.get("_error")) or (None if status is not None else "no answer came"),
    )


def _bytes(content: dict[str, Any]) -> bytes | None:
    held = content.get("text")
    if not isinstance(held, str):
        return None
    if content.get("encoding") == "base64":
        try:
            return base64.b64decode(held, validate=False)
        except (binascii.Error, ValueError):
            return None
    return held.encode("utf-8", "surrogatepass")


def _headers(message: dict[str, Any]) -> list[tuple[str, str]]:
    pairs = message.get("headers")
    return [
        (pair["name"], pair["value"])
        for pair in (pairs if isinstance(pairs, list) else ())
        if isinstance(pair, dict) and isinstance(pair.get("name"), str) and isinstance(pair.get("value"), str)
    ]


def _milliseconds(value: Any) -> float | None:
    found = number(value)
    return found / 1000 if found is not None and found >= 0 else None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
