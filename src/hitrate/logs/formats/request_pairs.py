"""JSONL of exchanges: `{"request" or "body", "response", "at" or "timestamp", ...}`, one a line.

Also lines that are a request body alone, a response with its `usage` alone, and the lines of a batch result
(`custom_id`, `response.body`), which were billed at the batch price.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import msgspec

from hitrate.core import spans
from hitrate.core.model import Call
from hitrate.core.recent import Recent
from hitrate.core.records import Skipped
from hitrate.logs.forms import Forms
from hitrate.logs.interface import Item, ReadCall, Repeated, ReplyReader
from hitrate.logs.lines import decoded, first_objects, placed_lines
from hitrate.logs.pairs import Exchange, is_exchange, request_in
from hitrate.logs.plain_calls import PlainCalls, model_of, time_member_of
from hitrate.logs.split import Splitter

_REMEMBERED = 1 << 16
"""Records kept in mind to know a repeated one by; what ships logs twice does so within moments."""


class RequestPairs:
    name = "request-pairs"
    about = "JSONL of request and response pairs, or of request bodies"

    def matches(self, head: bytes, path: str) -> bool:
        return any(is_exchange(value) for value in first_objects(head))

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        lines = _Lines(read_reply)
        for number, offset, text, start, end in placed_lines(stream):
            if isinstance(text, Skipped):
                yield text
            elif (item := lines.in_form(text, start, end, number)) is not None:
                yield item
            else:
                yield from lines.read(text[start:end], number, offset)


class _Lines:
    """The lines of one log."""

    def __init__(self, read_reply: ReplyReader) -> None:
        self._exchange = Exchange(read_reply)
        self._plain = PlainCalls(read_reply)
        self._splitter = Splitter()
        self._forms = Forms()
        self._seen: Recent[tuple[str, int], bool] = Recent(_REMEMBERED)
        self._calls = 0

    def in_form(self, text: bytes, start: int, end: int, number: int) -> Call | ReadCall | Repeated | None:
        """What is in a line that is an earlier one with another body; None where it has to be looked at."""
        fitting = self._forms.fit(text, start, end)
        if fitting is None:
            return None
        identity = None
        if fitting.form.has_id:
            identity = msgspec.json.decode(fitting.values["id"]), hash(text[start:end])
            if self._seen.get(identity):
                return Repeated()
        found = self._splitter.body(fitting.body, fitting.form)
        if found is None:
            return None
        known, shown = found
        call = self._plain.in_form(fitting, known, number)
        if call is None:
            return None
        if identity is not None:
            self._seen.put(identity, True)
        if known.call < 0:
            known.call, known.form = self._calls, fitting.form
        self._calls += 1
        return call if shown is None else ReadCall(call, shown)

    def read(self, data: bytes, number: int, offset: int) -> Iterator[Item]:
        for item in self._read(data, number, offset):
            self._calls += isinstance(item, Call)
            yield item

    def _read(self, data: bytes, number: int, offset: int) -> Iterator[Item]:
        splitter, exchange = self._splitter, self._exchange
        if (found := splitter.split(data)) is not None:
            record, body = found
            if _is_repeated(record, data, self._seen):
                yield Repeated()
            elif (call := self._plain.of_record(record, body, number)) is not None:
                if len(body.path) == 1:
                    self._forms.learn(data, body.data, time_member=time_member_of(record), model=model_of(record))
                yield call
            else:
                yield from exchange.read_with(record, body, line=number)
            return
        line = decoded(data, number, offset)
        if isinstance(line, Skipped):
            yield line
        elif _is_repeated(line.value, line.data, self._seen):
            yield Repeated()
        else:
            yield from line.remarks
            raw = _Raw(line.data)
            yield from exchange.read(line.value, line=number, raw=raw)
            _learn(splitter, line.value, line.data, raw)


def _is_repeated(record: Any, data: bytes, seen: Recent[tuple[str, int], bool]) -> bool:
    """Whether the same line stood there before, to the byte."""
    identity = _identity(record.get("response") if isinstance(record, dict) else None, data)
    if identity is None:
        return False
    if seen.get(identity):
        return True
    seen.put(identity, True)
    return False


def _identity(response: Any, data: bytes) -> tuple[str, int] | None:
    """What the same line to the byte is known by. Only with a response id, which no two answers share."""
    if not isinstance(response, dict) or not isinstance(response.get("id"), str):
        return None
    return response["id"], hash(data)


def _learn(splitter: Splitter, record: Any, data: bytes, raw: Callable[[tuple[str, ...]], bytes | None]) -> None:
    path = request_in(record)[0] if isinstance(record, dict) else None
    body = None if path is None else raw(path)
    if path is not None and body is not None:
        splitter.learn(data, path, body)


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
