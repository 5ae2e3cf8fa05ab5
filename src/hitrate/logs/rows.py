"""A `Call` as the columns of the table `calls` and back, without loss."""

from __future__ import annotations

import json
import sqlite3
from operator import attrgetter
from typing import Any

import msgspec

from hitrate.core.model import Call, Happening, Reply, Timing, Usage

_encode = msgspec.json.Encoder().encode
_REPLY = tuple(name for name in Reply.__struct_fields__ if name != "message")
_REPLY_DEFAULTS = dict(zip(_REPLY, Reply.__struct_defaults__, strict=True))
_INT64 = range(-(2**63), 2**63)

_COUNTS = tuple(name for name in Usage.__struct_fields__ if name.endswith("_tokens"))
_TIMING = Timing.__struct_fields__
_TEXTS = ("session", "label", "target", "dialect")
_PLAIN = (*_TEXTS, "turn", "model", "status", "error", "line")

NAMES = (
    *_PLAIN,
    *_COUNTS,
    "cached_source",
    *_TIMING,
    "response_headers",
    "waits",
    "happenings",
    "diagnosis",
    "raw_usage",
    "rebuilt",
    "headers",
    "sources",
    "reply",
)
"""Every column of a call but `id`, `run`, `position` and `body`; the last three can be recipes of the JSON."""

RECIPES = ("headers", "sources", "reply")

_plain_of = attrgetter(*_PLAIN)
_usage_of = attrgetter(*_COUNTS, "cached_source")
_timing_of = attrgetter(*_TIMING)
_NO_TIMING = (None,) * len(_TIMING)


def from_call(call: Call) -> list[Any]:
    """The values of the columns `NAMES`, as SQLite can hold them."""
    values: list[Any] = [
        *_plain_of(call),
        *_usage_of(call.usage),
        *(_NO_TIMING if call.timing is None else _timing_of(call.timing)),
        json_text(call.response_headers),
        json_text(call.waits),
        json_text(call.happenings) if call.happenings else None,
        None if call.diagnosis is None else json_text(call.diagnosis),
        None if call.raw_usage is None else json_text(call.raw_usage),
        int(call.rebuilt),
        json_text(call.headers),
        json_text(call.usage.sources),
        None if call.reply is None else json_text(_reply_members(call.reply)),
    ]
    for index, value in enumerate(values):
        if type(value) is str:
            if not value.isascii():
                values[index] = plain(value)
        elif type(value) is int and value not in _INT64:
            values[index] = plain(value)
    return values


def to_call(row: sqlite3.Row, body: bytes, headers: str | None, sources: str | None, reply: str | None) -> Call:
    """What the recipes in the row make is given: the body, and the JSON of the others."""
    usage = {name: _integer(row[name]) for name in _COUNTS}
    texts: dict[str, Any] = {name: text(row[name]) for name in _TEXTS}
    happenings = () if row["happenings"] is None else json.loads(row["happenings"])
    return Call(
        body=body,
        turn=_integer(row["turn"]),
        model=text_or_none(row["model"]),
        status=_integer(row["status"]),
        error=text_or_none(row["error"]),
        line=_integer(row["line"]),
        usage=Usage(**usage, cached_source=text(row["cached_source"]), sources=json.loads(sources or "{}")),
        timing=None if row["at"] is None else Timing(**{name: row[name] for name in _TIMING}),
        headers=json.loads(headers or "{}"),
        response_headers=json.loads(row["response_headers"]),
        waits=tuple(json.loads(row["waits"])),
        happenings=tuple(Happening(**happening) for happening in happenings),
        diagnosis=None if row["diagnosis"] is None else json.loads(row["diagnosis"]),
        raw_usage=None if row["raw_usage"] is None else json.loads(row["raw_usage"]),
        rebuilt=bool(row["rebuilt"]),
        reply=None if reply is None else _reply(json.loads(reply)),
        **texts,
    )


def plain(value: Any) -> Any:
    """What SQLite can hold: a count beyond 64 bits and text with lone surrogates become a BLOB."""
    if isinstance(value, int) and value not in _INT64:
        return str(value).encode()
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogatepass")
    return value


def text(value: str | bytes) -> str:
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def text_or_none(value: str | bytes | None) -> str | None:
    return None if value is None else text(value)


def _integer(value: Any) -> Any:
    return int(value) if isinstance(value, bytes) else value


def json_text(value: Any) -> str:
    """Compact JSON from which the standard library reads the same value, NaN and lone surrogates included, which
    servers do send."""
    try:
        encoded = _encode(value)
        if b"null" not in encoded:  # which also stands where NaN was
            return encoded.decode()
    except (UnicodeEncodeError, OverflowError, RecursionError):
        pass
    return json.dumps(msgspec.to_builtins(value), separators=(",", ":"))


def _reply_members(reply: Reply) -> dict[str, Any]:
    """What of a reply is not at its default and does not stand in its message as well."""
    members = {name: value for name in _REPLY if (value := getattr(reply, name)) != _REPLY_DEFAULTS[name]}
    members["message"] = reply.message
    for name, derived in _derived(reply.message).items():
        if members.get(name, _REPLY_DEFAULTS[name]) == derived:
            members.pop(name, None)
        elif name not in members:
            members[name] = _REPLY_DEFAULTS[name]
    return members


def _derived(message: Any) -> dict[str, Any]:
    """What a reply usually says beside its message, by what stands in it."""
    found: dict[str, Any] = {}
    if not isinstance(message, dict):
        return found
    content = message.get("content")
    if isinstance(content, str):
        found["text"] = content
    elif isinstance(content, list):
        for name, kind in (("text", "text"), ("reasoning", "thinking")):
            texts = [block.get(kind) for block in content if isinstance(block, dict) and block.get("type") == kind]
            if texts and all(isinstance(one, str) for one in texts):
                found[name] = "".join(map(str, texts))
    for member in ("reasoning_content", "reasoning"):
        if isinstance(reasoning := message.get(member), str):
            found["reasoning"] = reasoning
            break
    if isinstance(calls := message.get("tool_calls"), list):
        found["tool_calls"] = tuple(calls)
    return found


def _reply(fields: dict[str, Any]) -> Reply:
    fields = {**_derived(fields["message"]), **fields}
    for name in ("tool_calls", "token_ids"):
        if fields.get(name) is not None:
            fields[name] = tuple(fields[name])
    return Reply(**fields)
