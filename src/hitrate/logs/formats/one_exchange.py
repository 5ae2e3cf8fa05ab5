"""One request, with its response or alone, as a JSON document over several lines: what a debugger or `jq` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from hitrate.core import spans
from hitrate.core.records import Remark, Skipped
from hitrate.logs.formats.request_pairs import member_bytes
from hitrate.logs.interface import Item, ReplyReader
from hitrate.logs.lines import Fault, opening, parsed, read_document
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
        text = read_document(stream)
        if isinstance(text, Skipped):
            yield text
            return
        found = parsed(text)
        if isinstance(found, Fault):
            several = "extra data" in found.reason
            hint = "; of several requests each has to stand on one line" if several else ""
            yield Skipped(line=found.line, column=found.column, reason=found.reason + hint)
            return
        yield from (Remark(line=None, what=what) for what in found.oddities)
        root = spans.parse(text)
        yield from Exchange(read_reply).read(root.value, line=1, raw=lambda path: member_bytes(root, path))
