"""Transcripts of Claude Code: JSONL below `~/.claude/projects`, one line a content block, message or note.

One API call can be several lines, one a content block, with the same `message.id` and `requestId` and the same usage,
except that `output_tokens` of the first ones is that of the stream's start. So a call is counted once, with its
highest output. Side chains (subagents) are calls like others; their lines interleave and times run backwards.
The request itself is not in a transcript, so `body` is empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from msgspec.structs import replace

from hitrate.core.model import Call, Timing
from hitrate.core.records import Remark, Skipped
from hitrate.logs.interface import Item, Repeated, ReplyReader
from hitrate.logs.lines import first_objects, json_lines
from hitrate.logs.pairs import unix_time
from hitrate.logs.shapes import kind

_DIALECT = "anthropic-messages"

_OPEN_ANSWERS = 1000
"""Answers that may still get lines. Their lines stand close together, apart from subagents that run meanwhile."""

_NOT_A_CALL = "<synthetic>"
"""The model of messages that the agent wrote itself, say that it was interrupted."""


class ClaudeCode:
    name = "claude-code"
    about = "transcript of Claude Code (JSONL)"

    def matches(self, head: bytes, path: str) -> bool:
        return any(
            ("sessionId" in value and ("parentUuid" in value or "uuid" in value))
            or (value.get("type") == "summary" and "leafUuid" in value)
            or (value.get("type") == "assistant" and "requestId" in value)
            for value in first_objects(head)
        )

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        answers = Answers(read_reply)
        for line in json_lines(stream):
            if isinstance(line, Skipped):
                yield line
            else:
                yield from line.remarks
                yield from answers.take(line.value, line=line.number)
        yield from answers.rest()


class Answers:
    """Puts the lines of an answer together; keeps the two ids of each one, so that a copy of it is not counted."""

    def __init__(self, read_reply: ReplyReader) -> None:
        self._read_reply = read_reply
        self._open: dict[tuple[str, str], Call] = {}
        self._closed: set[tuple[str, str]] = set()

    def take(self, value: Any, *, line: int | None, pointer: str = "") -> Iterator[Item]:
        """One line; gives the calls that no further line can belong to."""
        if not isinstance(value, dict):
            yield Skipped(line=line, reason=f"{pointer or 'the record'} is {kind(value)}, expected an object")
            return
        message = value.get("message")
        if value.get("type") != "assistant" or not isinstance(message, dict) or message.get("model") == _NOT_A_CALL:
            return
        usage = message.get("usage")
        if not isinstance(usage, dict):
            yield Skipped(line=line, reason=f"{pointer}/message/usage is {kind(usage)}, expected an object")
            return
        call, fault = self._call(value, message, usage)
        if fault is not None:
            yield Remark(line=line, what=fault)
        key = (str(message.get("id")), str(value.get("requestId")))
        if message.get("id") is None:
            yield call
        elif key in self._closed:
            yield Repeated()
        elif key in self._open:
            if (call.usage.output_tokens or 0) >= (self._open[key].usage.output_tokens or 0):
                # The time stays that of the first line: the nearest to when the call was made.
                self._open[key] = replace(call, timing=self._open[key].timing)
            yield Repeated()
        else:
            self._open[key] = call
            if len(self._open) > _OPEN_ANSWERS:
                oldest = next(iter(self._open))
                self._closed.add(oldest)
                yield self._open.pop(oldest)

    def rest(self) -> Iterator[Call]:
        """The calls still open at the end of the log."""
        yield from self._open.values()
        self._open = {}

    def _call(self, value: dict[str, Any], message: dict[str, Any], usage: dict[str, Any]) -> tuple[Call, str | None]:
        _, reading = self._read_reply({**message, "type": "message"}, _DIALECT)
        model = message.get("model") if isinstance(message.get("model"), str) else None
        at = unix_time(value.get("timestamp"))
        raw_usage = dict(usage)
        if "costUSD" in value:  # older versions wrote what a call cost
            raw_usage["cost"] = value["costUSD"]
        call = Call(
            target="bedrock" if model is not None and "anthropic." in model else "anthropic",
            dialect=_DIALECT,
            body=b"",
            model=model,
            session=str(value.get("sessionId") or ""),
            label="sidechain" if value.get("isSidechain") is True else "",
            usage=reading.usage,
            timing=None if at is None else Timing(at=at, sent_at_s=at),
            raw_usage=raw_usage,
        )
        return call, reading.fault
