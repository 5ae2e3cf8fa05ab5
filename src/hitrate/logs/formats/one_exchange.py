"""One request, with its response or alone, as a JSON document over several lines: what a debugger or `jq` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from msgspec.structs import replace

from hitrate.core import spans
from hitrate.core.records import Skipped
from hitrate.logs.formats.request_pairs import member_bytes
from hitrate.logs.interface import Item, ReplyReader
from hitrate.logs.lines import json_document, opening
from hitrate.logs.pairs import Exchange, is_exchange


class OneExchange:
    name = "exchange"
    about = "one request, with its response or alone, as a JSON document over several lines"

    def matches(self, head: bytes, path: str) -> bool:
        start = head.removeprefix(b"\xef\xbb\xbf").strip()
        first, _, rest = start.partition(b"\n")
        begins = first.startswith(b"{") and not first.rstrip().endswith(b"}")
        return begins and bool(rest) and is_exchange(opening(start))

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        found = json_document(stream)
        if isinstance(found, Skipped):
            several = "extra data" in found.reason
            hint = "; of several requests each has to stand on one line" if several else ""
            yield replace(found, reason=found.reason + hint)
            return
        yield from found.remarks
        root = spans.parse(found.text)
        yield from Exchange(read_reply).read(root.value, line=1, raw=lambda path: member_bytes(root, path))
