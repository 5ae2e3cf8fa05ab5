"""Calls as `hitrate export` writes them: JSONL, a call a line, with every field of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from msgspec.structs import replace

from hitrate.core.model import Call
from hitrate.core.records import Skipped
from hitrate.logs.call_lines import MARK, call_of_line
from hitrate.logs.call_secrets import without_secret_headers
from hitrate.logs.interface import ContentNotKept, Item, ReplyReader
from hitrate.logs.lines import first_objects, raw_lines


class HitrateCalls:
    name = "hitrate"
    about = "calls as `hitrate export` writes them (JSONL)"

    def matches(self, head: bytes, path: str) -> bool:
        return any(MARK in value for value in first_objects(head))

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        """Calls with stand-ins for content that was not kept, each with the line it has in this file."""
        # Here, because it needs the causes, which no other format does: a quarter of what starting takes.
        from hitrate.logs.hashed.stand_ins import expand_call

        for number, item in _lines(stream):
            yield replace(expand_call(item), line=number) if isinstance(item, Call) else item

    def read_stored(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        """Calls as they were when they were written."""
        return (item for _, item in _lines(stream))


def _lines(stream: BinaryIO) -> Iterator[tuple[int, Item]]:
    said = False
    for number, _, data in raw_lines(stream):
        if isinstance(data, Skipped):
            yield number, data
            continue
        try:
            call, hashed = call_of_line(data)
        except ValueError as error:
            yield number, Skipped(line=number, reason=str(error))
            continue
        if hashed and not said:
            said = True
            yield number, ContentNotKept()
        yield number, without_secret_headers(call)  # who made the file may not have been hitrate
