"""One exchange as a log holds it, request and response in any of the usual wrappings, as a `Call`."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hitrate.core.headers import kept_request_headers
from hitrate.core.model import Call, Reading, Timing, Usage
from hitrate.core.records import Remark, Skipped
from hitrate.core.spans import compact
from hitrate.core.wires import RENDERED, wire_named
from hitrate.logs.answered import ANSWER_MEMBERS, DIAGNOSIS_MEMBERS, answer_headers, diagnosis_of
from hitrate.logs.interface import ReplyReader
from hitrate.logs.shapes import body_problems, guess_dialect, is_request_body, kind, named

REQUEST_MEMBERS = ("body", "request")
RESPONSE_MEMBERS = ("response", "usage", "usageMetadata")
TIME_MEMBERS = ("at", "timestamp", "time", "created_at", "createdAt", "start_time", "startTime", "request_time")

DONE_MEMBERS = ("done", "done_at", "completed_at", "finished_at", "end_time", "endTime", "ended_at")
SESSION_MEMBERS = ("session", "session_id", "sessionId", "conversation_id", "conversationId")
_IS_DONE = frozenset(DONE_MEMBERS)

EARLIEST, LATEST_IN_SECONDS = 1e9, 1e10
"""2001, and 2286: a number beyond is a count of smaller units."""

_WIRES = frozenset(
    {"openai-chat", "openai-responses", "anthropic-messages", "bedrock-converse", "gemini-generate", RENDERED}
)


def is_exchange(value: Any) -> bool:
    """Whether a record could be an exchange, a request body, or a response with its usage."""
    return isinstance(value, dict) and (
        any(isinstance(_unpacked(value.get(name)), dict) for name in (*REQUEST_MEMBERS, *RESPONSE_MEMBERS))
        or is_request_body(value)
    )


class Body(Struct, frozen=True, gc=False):
    """A request body in a record: where it stands, as member names, its bytes, and what is known of it."""

    path: tuple[str, ...]
    data: bytes
    model: Any = None
    dialect: str | None = None
    """The wire it is written for, by its shape."""


class Exchange:
    """Reads the records of one log.

    `api` is the wire format the log names for all its calls. A body's bytes are those in the file where `raw` finds
    them by the path of members, else JSON written anew.
    """

    def __init__(self, read_reply: ReplyReader, *, api: str | None = None) -> None:
        self._read_reply = read_reply
        self._api = api

    def read(
        self,
        record: Any,
        *,
        line: int | None,
        pointer: str = "",
        raw: Callable[[tuple[str, ...]], bytes | None] = lambda path: None,
    ) -> Iterator[Call | Skipped | Remark]:
        """The remarks on a record and then its call, or what is wrong with it."""
        if not isinstance(record, dict):
            yield Skipped(line=line, reason=f"{pointer or 'the record'} is {kind(record)}, expected an object")
            return
        path, value = request_in(record)
        if path is None:
            yield from self.read_with(record, None, line=line, pointer=pointer)
            return
        problems = body_problems(value, pointer + "".join(f"/{name}" for name in path))
        body = None
        if not problems:
            encoded = raw(path) or compact(value).encode("utf-8", "surrogatepass")
            body = Body(path, encoded, value.get("model"), guess_dialect(value))
        yield from self.read_with(record, body, line=line, pointer=pointer, problems=problems)

    def read_with(
        self,
        record: dict[str, Any],
        body: Body | None,
        *,
        line: int | None,
        pointer: str = "",
        problems: Sequence[str] = (),
    ) -> Iterator[Call | Skipped | Remark]:
        """The same for a record whose body was read already; what stands in its place in the record is not looked at.

        `problems` are those of the body.
        """
        at, time_problem = _time(record, pointer, TIME_MEMBERS)
        done, done_problem = (None, None) if _IS_DONE.isdisjoint(record) else _time(record, pointer, DONE_MEMBERS)
        response, response_problem = _response(record, pointer)
        soft = [problem for problem in (time_problem, done_problem, response_problem) if problem is not None]
        if body is None and response is None and not problems:
            problems = [
                f"{pointer or 'the record'} has neither a request ({', '.join(REQUEST_MEMBERS)}) nor a response"
            ]
        if problems:
            yield Skipped(line=line, reason=named([*problems, *soft]))
            return
        if at is not None and done is not None and done < at:
            soft.append(f"{pointer or 'the record'} was done before it began; when it was done is taken as not known")
            done = None
        for problem in soft:
            yield Remark(line=line, what=problem)
        dialect, reading = self._reading(record, response, None if body is None else body.dialect)
        if reading.fault is not None and response is not None and "error" not in response:
            yield Remark(line=line, what=reading.fault)
        response = response or {}
        call = _call(record, body or _NO_BODY, response, reading, dialect, at, done, line)
        yield _with_more(call, record, response)

    def _reading(
        self, record: dict[str, Any], response: dict[str, Any] | None, guessed: str | None
    ) -> tuple[str, Reading]:
        named_dialect = self._api or _text(record.get("api")) or _text(record.get("dialect"))
        dialect = None if named_dialect is None else wire_named(named_dialect)
        guessed = None if guessed is None else wire_named(guessed)
        if guessed == RENDERED:  # a prompt and no messages: the body says so, whatever the log or the reply looks like
            dialect = RENDERED
        elif dialect not in _WIRES and guessed is not None:
            dialect = None  # a name of the log's own, say of a client library
        if response is None:
            return dialect or guessed or "", Reading(reply=None, usage=Usage())
        found, reading = self._read_reply(response, dialect)
        return dialect or found or guessed or "", reading


_NO_BODY = Body((), b"")


def request_in(record: dict[str, Any]) -> tuple[tuple[str, ...] | None, Any]:
    """Where the request body stands, as member names, and the body. A path with a body of None: it should be there."""
    for name in REQUEST_MEMBERS:
        if name not in record:
            continue
        value = record[name]
        if isinstance(value, dict) and not is_request_body(value) and "body" in value:
            return (name, "body"), _unpacked(value["body"])
        return (name,), _unpacked(value)
    return ((), record) if is_request_body(record) else (None, None)


def _unpacked(value: Any) -> Any:
    """A body that was logged as text."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _response(record: dict[str, Any], pointer: str) -> tuple[dict[str, Any] | None, str | None]:
    """The response as a reply body or events, and what is odd about it."""
    response = _unpacked(record.get("response"))
    place = f"{pointer}/response"
    if isinstance(response, list):
        return {"events": response}, None
    if response is not None and not isinstance(response, dict):
        return None, f"{place} is {kind(response)}, expected an object"
    if isinstance(response, dict) and isinstance(body := _unpacked(response.get("body")), dict):
        batch = "custom_id" in record
        return ({**body, "service_tier": "batch"} if batch else body), None
    if response is None:
        beside = {name: record[name] for name in RESPONSE_MEMBERS[1:] if record.get(name) is not None}
        response = beside or None
        place = pointer
    for name in RESPONSE_MEMBERS[1:]:
        if response and response.get(name) is not None and not isinstance(response[name], dict):
            return response, f"{place}/{name} is {kind(response[name])}, expected an object"
    return response, None


def _call(
    record: dict[str, Any],
    body: Body,
    response: dict[str, Any],
    reading: Reading,
    dialect: str,
    at: float | None,
    done: float | None,
    line: int | None,
) -> Call:
    raw_usage = reading.raw_usage
    if tier := _text(response.get("service_tier")):
        raw_usage = {"service_tier": tier, **(raw_usage or {})}
    return Call(
        target="",
        dialect=dialect,
        body=body.data,
        model=_text(body.model) or _text(response.get("model")) or _text(record.get("model")),
        usage=reading.usage,
        timing=None if at is None else _timing(record, response, at, done),
        reply=reading.reply,
        raw_usage=raw_usage,
        error=reading.fault if reading.reply is None and "error" in response else None,
        diagnosis=diagnosis_of(response),
        line=line,
    )


def _with_more(call: Call, record: dict[str, Any], response: dict[str, Any]) -> Call:
    """The call with what the fewest logs have: names, headers, a status."""
    if _MORE.isdisjoint(record) and _MORE.isdisjoint(response) and record.get("response") is response:
        wrapping, body = (record.get(name) for name in REQUEST_MEMBERS)
        if not isinstance(wrapping, dict) and not isinstance(body, dict):
            return call
    return replace(
        call,
        target=_text(record.get("provider")) or _text(response.get("provider")) or "",
        session=_session(record),
        label=_text(record.get("purpose")) or "",
        headers=_request_headers(record),
        status=_status(record, response),
        response_headers=answer_headers(response, record),
    )


_MORE = frozenset({"provider", "purpose", "headers", "status", *SESSION_MEMBERS, *ANSWER_MEMBERS})
MORE_IN_RECORD = _MORE.union({"api", "dialect", "ttft_ms"}, DONE_MEMBERS)
MORE_IN_RESPONSE = _MORE.union(
    {"body", "events", "ttft_ms", "service_tier", "error", "usageMetadata"}, DIAGNOSIS_MEMBERS
)
"""What the calls of the fewest logs have, in either place."""


def _timing(record: dict[str, Any], response: dict[str, Any], at: float, done: float | None) -> Timing:
    ttft_ms = _number(response.get("ttft_ms", record.get("ttft_ms")))
    return Timing(
        at=at,
        sent_at_s=at,
        ttft_s=None if ttft_ms is None else ttft_ms / 1000,
        total_s=None if done is None else done - at,
    )


def _session(record: dict[str, Any]) -> str:
    """The log's name of the conversation. Other ids (traces, users, metadata) are not taken for one."""
    for name in SESSION_MEMBERS:
        value = record.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return str(value)
    return ""


def _request_headers(record: dict[str, Any]) -> dict[str, str]:
    """Beside the request or in its wrapping."""
    headers = record.get("headers")
    for name in REQUEST_MEMBERS:
        if headers is None and isinstance(request := record.get(name), dict):
            headers = request.get("headers")
    return kept_request_headers(_texts(headers).items()) if headers is not None else {}


def _status(record: dict[str, Any], response: dict[str, Any]) -> int | None:
    status = response.get("status", record.get("status"))
    return status if isinstance(status, int) and not isinstance(status, bool) else None


def _time(record: dict[str, Any], pointer: str, names: tuple[str, ...]) -> tuple[float | None, str | None]:
    """Unix time of a record under one of these names, and what is wrong with what stands there."""
    for name in names:
        value = record.get(name)
        if value is None or (names is DONE_MEMBERS and isinstance(value, bool)):  # Ollama says whether, not when
            continue
        at = unix_time(value)
        if at is None:
            return None, f"{pointer}/{name} is {str(value)[:40]!r}, expected a time; it is taken as not known"
        return at, None
    return None, None


def unix_time(value: Any) -> float | None:
    """Seconds since 1970 from ISO 8601 text (UTC where it names no zone) or a count of s, ms, us or ns; else None.

    The unit of a count is told by its size, for times from 2001 to 2286.
    """
    if isinstance(value, str):
        try:
            moment = datetime.datetime.fromisoformat(value.strip())
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=datetime.UTC)
        try:
            return moment.timestamp()
        except (ValueError, OverflowError):
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not EARLIEST <= value < 1e19:
        return None
    while value >= LATEST_IN_SECONDS:
        value /= 1000
    return float(value)


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if is_number else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _texts(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {name: text for name, text in value.items() if isinstance(text, str)}
