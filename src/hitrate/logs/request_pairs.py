"""JSONL of exchanges: `{"request" or "body", "response", "at" or "timestamp", ...}`, one a line.

Also lines that are a request body alone, a response with its `usage` alone, and the lines of a batch result
(`custom_id`, `response.body`), which were billed at the batch price.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from hitrate.core import spans
from hitrate.core.records import Skipped
from hitrate.logs.interface import Item, Repeated, ReplyReader
from hitrate.logs.lines import Line, first_objects, json_lines
from hitrate.logs.pairs import Exchange, is_exchange

_REMEMBERED = 1 << 16
"""Records kept in mind to know a repeated one by; what ships logs twice does so within moments."""


class RequestPairs:
    name = "request-pairs"
    about = "JSONL of request and response pairs, or of request bodies"

    def matches(self, head: bytes, path: str) -> bool:
        return any(is_exchange(value) for value in first_objects(head))

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        exchange = Exchange(read_reply)
        seen: dict[bytes, None] = {}
        for line in json_lines(stream):
            if isinstance(line, Skipped):
                yield line
                continue
            if _is_repeated(line, seen):
                yield Repeated()
                continue
            yield from line.remarks
            yield from exchange.read(line.value, line=line.number, raw=_Raw(line.data))


def _is_repeated(line: Line, seen: dict[bytes, None]) -> bool:
    """Whether the same line stood there before, to the byte. Only with a response id, which no two answers share."""
    response = line.value.get("response") if isinstance(line.value, dict) else None
    if not isinstance(response, dict) or not isinstance(response.get("id"), str):
        return False
    digest = hashlib.sha256(line.data).digest()
    if digest in seen:
        return True
    if len(seen) >= _REMEMBERED:
        del seen[next(iter(seen))]
    seen[digest] = None
    return False


class _Raw:
    """The bytes of a member as they stand in the line, found by its path; None for what is not there as JSON."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __call__(self, path: tuple[str, ...]) -> bytes | None:
        try:
            raw = self._data
            for name in path:
                raw = bytes(msgspec.json.decode(raw, type=dict[str, msgspec.Raw])[name])
        except (msgspec.DecodeError, KeyError, RecursionError):  # NaN, say, which the standard library takes
            return member_bytes(spans.parse(self._data.decode("utf-8")), path)
        return raw if raw.startswith(b"{") else None


def member_bytes(root: Any, path: tuple[str, ...]) -> bytes | None:
    """The bytes of an object below a `spans.Node`; None when there is none, as for a body that was logged as text."""
    node = root
    for name in path:
        node = node.get(name)
        if node is None:
            return None
    text: str = node.text[node.start : node.end]
    return text.encode("utf-8") if text.startswith("{") else None
