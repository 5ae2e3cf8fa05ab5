"""A `Call` as the columns of the table `calls` and back, without loss."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import msgspec

from hitrate.core.model import Call, Reply, Timing, Usage

_INT64 = range(-(2**63), 2**63)

_COUNTS = tuple(name for name in Usage.__struct_fields__ if name.endswith("_tokens"))
_TIMING = Timing.__struct_fields__
_TEXTS = ("session", "label", "target", "dialect")


def from_call(call: Call) -> dict[str, Any]:
    """Every column but `run`, `position` and `body`."""
    columns: dict[str, Any] = {name: getattr(call, name) for name in (*_TEXTS, "turn", "model", "status", "error")}
    columns |= {name: getattr(call.usage, name) for name in (*_COUNTS, "cached_source")}
    columns |= {name: getattr(call.timing, name, None) for name in _TIMING}
    columns |= {
        "headers": json_text(call.headers),
        "response_headers": json_text(call.response_headers),
        "sources": json_text(call.usage.sources),
        "waits": json_text(call.waits),
        "raw_usage": None if call.raw_usage is None else json_text(call.raw_usage),
        "reply": None if call.reply is None else json_text(msgspec.structs.asdict(call.reply)),
    }
    return {name: plain(value) for name, value in columns.items()}


def to_call(row: sqlite3.Row, body: bytes) -> Call:
    usage = {name: _integer(row[name]) for name in _COUNTS}
    texts: dict[str, Any] = {name: text(row[name]) for name in _TEXTS}
    return Call(
        body=body,
        turn=_integer(row["turn"]),
        model=text_or_none(row["model"]),
        status=_integer(row["status"]),
        error=text_or_none(row["error"]),
        usage=Usage(**usage, cached_source=text(row["cached_source"]), sources=json.loads(row["sources"])),
        timing=None if row["at"] is None else Timing(**{name: row[name] for name in _TIMING}),
        headers=json.loads(row["headers"]),
        response_headers=json.loads(row["response_headers"]),
        waits=tuple(json.loads(row["waits"])),
        raw_usage=None if row["raw_usage"] is None else json.loads(row["raw_usage"]),
        reply=None if row["reply"] is None else _reply(json.loads(row["reply"])),
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
    """By the standard library: unlike msgspec's encoder it keeps NaN and lone surrogates, which servers do send."""
    return json.dumps(msgspec.to_builtins(value), separators=(",", ":"))


def _reply(fields: dict[str, Any]) -> Reply:
    token_ids = fields.pop("token_ids")
    return Reply(
        **{**fields, "tool_calls": tuple(fields["tool_calls"])},
        token_ids=None if token_ids is None else tuple(token_ids),
    )
