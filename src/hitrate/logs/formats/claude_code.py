"""Transcripts of Claude Code: JSONL below `~/.claude/projects`, one line a content block, message or note.

One API call can be several lines, one a content block, with the same `message.id` and `requestId` and the same usage,
except that `output_tokens` of the first ones is that of the stream's start. So a call is counted once, with its
highest output. Side chains (subagents) are calls like others; their lines interleave and times run backwards. Each is
a session of its own, named after the agent or, in older transcripts, by the first message its lines descend from.
The request itself is not in a transcript, so `body` is empty.

Between the calls stand compactions (a `compact_boundary`, the summary behind it, or a `summary` line between calls) and
calls that ended without usage: an interruption by the user, or an error that the agent wrote down as a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from msgspec.structs import replace

from hitrate.core.model import Call, Timing
from hitrate.core.recent import Recent
from hitrate.core.records import Remark, Skipped
from hitrate.logs.answered import diagnosis_of
from hitrate.logs.happenings import Happenings
from hitrate.logs.interface import Item, Repeated, ReplyReader
from hitrate.logs.lines import first_objects, json_lines
from hitrate.logs.pairs import unix_time
from hitrate.logs.shapes import kind

_DIALECT = "anthropic-messages"

_OPEN_ANSWERS = 1000
"""Answers that may still get lines. Their lines stand close together, apart from subagents that run meanwhile."""

_NOT_A_CALL = "<synthetic>"
"""The model of messages that the agent wrote itself, say that it was interrupted."""

_INTERRUPTED = "[Request interrupted by user]"
"""What stands in the user's place when an answer was stopped; after a tool was refused the text goes on."""

_LINES_REMEMBERED = 1 << 14
"""Lines of side chains by whose id the chain of a later line is found."""


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
        self._chains: Recent[str, str] = Recent(_LINES_REMEMBERED)
        self._happenings: dict[str, Happenings] = {}

    def take(self, value: Any, *, line: int | None, pointer: str = "") -> Iterator[Item]:
        """One line; gives the calls that no further line can belong to."""
        if not isinstance(value, dict):
            yield Skipped(line=line, reason=f"{pointer or 'the record'} is {kind(value)}, expected an object")
            return
        session = self._session(value)
        message = value.get("message")
        if value.get("type") == "message" and isinstance(message, dict) and "usage" in message:
            yield Skipped(line=line, reason="an answer in another program's session file, not in Claude Code's")
            return
        if value.get("type") != "assistant" or not isinstance(message, dict) or message.get("model") == _NOT_A_CALL:
            self._note(value, session)
            return
        usage = message.get("usage")
        if not isinstance(usage, dict):
            yield Skipped(line=line, reason=f"{pointer}/message/usage is {kind(usage)}, expected an object")
            return
        call, fault = self._call(value, message, usage, session, line)
        if fault is not None:
            yield Remark(line=line, what=fault)
        key = (str(message.get("id")), str(value.get("requestId")))
        if message.get("id") is None:
            yield self._with_happenings(call)
        elif key in self._closed:
            yield Repeated()
        elif key in self._open:
            if (call.usage.output_tokens or 0) >= (self._open[key].usage.output_tokens or 0):
                # The time stays that of the first line: the nearest to when the call was made.
                first = self._open[key]
                self._open[key] = replace(call, timing=first.timing, happenings=first.happenings, line=first.line)
            yield Repeated()
        else:
            self._open[key] = self._with_happenings(call)
            if len(self._open) > _OPEN_ANSWERS:
                oldest = next(iter(self._open))
                self._closed.add(oldest)
                yield self._open.pop(oldest)

    def _session(self, value: dict[str, Any]) -> str:
        """The name of the conversation a line belongs to."""
        session = str(value.get("sessionId") or "")
        if value.get("isSidechain") is not True:
            return session
        own, parent = value.get("uuid"), value.get("parentUuid")
        chain = value.get("agentId") or self._chains.get(str(parent)) or own
        if isinstance(own, str):
            self._chains.put(own, str(chain))
        return f"{session}#{chain}"

    def _note(self, value: dict[str, Any], session: str) -> None:
        """What a line that is no answer says has happened in its conversation."""
        at = unix_time(value.get("timestamp"))
        line_type = value.get("type")
        if line_type == "summary":  # names no session; in front of all calls it is the title of an earlier one
            for happenings in self._happenings.values():
                happenings.compacted("", at)
        elif line_type == "system" and value.get("subtype") == "compact_boundary":
            metadata = value.get("compactMetadata")
            before = metadata.get("preTokens") if isinstance(metadata, dict) else None
            self._of(session).compacted(f"of {before:,} tokens" if type(before) is int else "", at)
        elif value.get("isCompactSummary") is True:
            self._of(session).compacted("", at)
        elif value.get("isApiErrorMessage") is True:
            self._of(session).aborted("error before its usage came", at)
        elif line_type == "user" and _INTERRUPTED in _texts(value.get("message")):
            self._of(session).aborted("interrupted by the user", at)

    def _of(self, session: str) -> Happenings:
        return self._happenings.setdefault(session, Happenings())

    def _with_happenings(self, call: Call) -> Call:
        happenings = self._of(call.session)
        if call.model is not None:
            happenings.set("model", call.model, call.timing.at if call.timing is not None else None)
        found = happenings.now()
        happenings.answered()
        return replace(call, happenings=found) if found else call

    def rest(self) -> Iterator[Call]:
        """The calls still open at the end of the log."""
        yield from self._open.values()
        self._open = {}

    def _call(
        self, value: dict[str, Any], message: dict[str, Any], usage: dict[str, Any], session: str, line: int | None
    ) -> tuple[Call, str | None]:
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
            session=session,
            label="sidechain" if value.get("isSidechain") is True else "",
            usage=reading.usage,
            timing=None if at is None else Timing(at=at, sent_at_s=at),
            raw_usage=raw_usage,
            diagnosis=diagnosis_of(message),
            line=line,
        )
        return call, reading.fault


def _texts(message: Any) -> list[str]:
    """The texts of a message, a string or blocks."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [content]
    blocks = content if isinstance(content, list) else []
    return [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]
