"""One JSON document with a session: `requests`, a list of exchanges, or `log`, the lines of an agent's transcript.

    {"api": "openai-chat", "requests": [{"at": "...", "body": {...}, "response": {"usage": {...}}}, ...],
     "prices": {"input": 1.25, "cached": 0.125, "output": 10.0, "unit": "USD per million tokens"}}

Also a bare list of exchanges, as many tools export it. Read are `api`, `requests`, `log`, `prices`, and what is known
of the cache and the engine, `rules` and `server`; other members are for people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from hitrate.core import spans
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.core.money import Price
from hitrate.core.records import Remark, Skipped
from hitrate.logs.formats.claude_code import Answers
from hitrate.logs.formats.request_pairs import member_bytes
from hitrate.logs.interface import Item, OwnPrice, OwnRules, ReplyReader
from hitrate.logs.lines import json_document, opening
from hitrate.logs.pairs import Exchange
from hitrate.logs.shapes import kind

_EXCHANGE_MEMBER = lazy_pattern(rb'"(body|request|response|messages)"\s*:')

_UNIT = "usd per million tokens"
_PRICES = {
    "input_usd_per_mtok": ("input",),
    "cached_usd_per_mtok": ("cached", "cache_read", "read"),
    "written_usd_per_mtok": ("written", "write", "cache_write", "write_5m"),
    "written_1h_usd_per_mtok": ("written_1h", "write_1h", "cache_write_1h"),
    "output_usd_per_mtok": ("output",),
    "storage_usd_per_mtok_hour": ("storage_per_hour",),
}


class SessionFile:
    name = "session"
    about = "one JSON document with the exchanges of a session"

    def matches(self, head: bytes, path: str) -> bool:
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if start.startswith(b"["):
            return _EXCHANGE_MEMBER.search(start) is not None
        if not start.startswith(b"{"):
            return False
        members = opening(start)
        return any(isinstance(members.get(name), list) for name in ("requests", "log"))

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        found = json_document(stream)
        if isinstance(found, Skipped):
            yield found
            return
        yield from found.remarks
        root = spans.parse(found.text)
        document = root.value if isinstance(root.value, dict) else {"requests": root.value}
        yield from _own_price(document.get("prices"))
        yield from _own_rules(document)
        yield from self._requests(root, document, read_reply)
        if isinstance(document.get("log"), list):
            answers = Answers(read_reply)
            for index, value in enumerate(document["log"]):
                yield from answers.take(value, line=None, pointer=f"/log/{index}")
            yield from answers.rest()

    def _requests(self, root: spans.Node, document: dict[str, Any], read_reply: ReplyReader) -> Iterator[Item]:
        requests = document.get("requests")
        if requests is None:
            return
        if not isinstance(requests, list):
            yield Skipped(line=None, reason=f"/requests is {kind(requests)}, expected an array")
            return
        api = document.get("api")
        exchange = Exchange(read_reply, api=api if isinstance(api, str) else None)
        list_node = root if isinstance(root.value, list) else root.get("requests")
        assert list_node is not None
        prefix = "" if list_node is root else "/requests"
        line, position = 1, 0
        for index, node in enumerate(list_node.items()):
            line += root.text.count("\n", position, node.start)
            position = node.start
            yield from exchange.read(
                node.value,
                line=line,
                pointer=f"{prefix}/{index}",
                raw=lambda path, node=node: member_bytes(node, path),  # type: ignore[misc]
            )


def _own_price(prices: Any) -> Iterator[OwnPrice | Remark]:
    if prices is None:
        return
    unit = prices.get("unit", _UNIT) if isinstance(prices, dict) else None
    if not isinstance(unit, str) or unit.lower() != _UNIT:
        yield Remark(line=None, what="/prices is not used, expected an object with unit 'USD per million tokens'")
        return
    amounts: dict[str, Any] = {field: _amount(prices, names) for field, names in _PRICES.items()}
    yield OwnPrice(Price(**amounts, source="the log's own prices"))


def _own_rules(document: Mapping[str, Any]) -> Iterator[OwnRules | Remark]:
    found = {}
    for name in ("rules", "server"):
        value = document.get(name)
        if isinstance(value, dict):
            found[name] = value
        elif value is not None:
            yield Remark(line=None, what=f"/{name} is {kind(value)}, expected an object; it is not used")
    if found:
        yield OwnRules(**found)


def _amount(prices: Mapping[str, Any], names: tuple[str, ...]) -> float | None:
    for name in names:
        value = prices.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf"):
            return float(value)
    return None
