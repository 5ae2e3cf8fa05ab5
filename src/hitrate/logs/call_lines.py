"""A `Call` as one line of JSON and back, without loss: what `hitrate export` writes and `hitrate import` reads.

    {"hitrate_call":1,"target":"openai","dialect":"openai-chat","model":"m","usage":{...},...,"body":{...}}

Members are those of `Call` that are not at their defaults; `body` comes last. It is the JSON text as sent where that
is one line of JSON in UTF-8, and `body_base64` stands in its place for all other bytes. `content` "hashed" says that
prompts and replies are hashes (see `hitrate.logs.hashed`).
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

import msgspec
from msgspec import NODEFAULT
from msgspec.structs import fields

from hitrate.core import spans
from hitrate.core.model import Call, Reply, Timing, Usage

VERSION = 1
MARK = "hitrate_call"
"""Member by which such a line is known; its value is the version of the form."""

_BUILT_IN = (bytes,)
_PARTS = (Usage, Timing, Reply)


def line_of(call: Call, *, hashed: bool = False) -> bytes:
    """Ends in a line break."""
    members: dict[str, Any] = {MARK: VERSION}
    if hashed:
        members["content"] = "hashed"
    for name, value in _not_default(call).items():
        if name != "body":
            members[name] = _not_default(value) if isinstance(value, _PARTS) else msgspec.to_builtins(value)
    text = json.dumps(members, separators=(",", ":"))[:-1].encode()
    if _is_line_of_json(call.body):
        return b'%b,"body":%b}\n' % (text, call.body)
    return b'%b,"body_base64":"%b"}\n' % (text, base64.b64encode(call.body))


def call_of_line(line: bytes) -> tuple[Call, bool]:
    """The call, and whether its content is hashed. ValueError, one line, for what is no such line."""
    members, body = _members(line)
    if members.pop(MARK, None) != VERSION:
        raise ValueError(f"expected an object with {MARK!r}: {VERSION}")
    hashed = members.pop("content", "kept") == "hashed"
    encoded = members.pop("body_base64", None)
    if encoded is not None:
        try:
            body = base64.b64decode(encoded, validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise ValueError("/body_base64 is no base64") from None
    if body is None:
        raise ValueError("it has neither body nor body_base64")
    try:
        return msgspec.convert({**members, "body": body}, type=Call, builtin_types=_BUILT_IN), hashed
    except (msgspec.ValidationError, OverflowError) as error:
        raise ValueError(f"it is no call: {error}") from None


def _not_default(struct: msgspec.Struct) -> dict[str, Any]:
    """The members that are not at their defaults, by value: msgspec leaves out a text only if it is the same object.

    Times are numbers with a point, whole ones, too, so that a store gives back the same text.
    """
    found = {}
    for field in fields(type(struct)):
        value = getattr(struct, field.name)
        default = field.default if field.default_factory is NODEFAULT else field.default_factory()
        if default is NODEFAULT or value != default:
            is_time = isinstance(struct, Timing) and type(value) is int and field.name != "first_read_tokens"
            found[field.name] = float(value) if is_time else value
    return found


def _is_line_of_json(body: bytes) -> bool:
    if body[:1] not in (b"{", b"[") or body[-1:] not in (b"}", b"]") or b"\n" in body or b"\r" in body:
        return False
    try:
        body.decode("utf-8")
        msgspec.json.decode(body, type=msgspec.Raw)
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _members(line: bytes) -> tuple[dict[str, Any], bytes | None]:
    """The members but `body`, decoded, and the bytes of that."""
    try:
        raw = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        body = raw.pop("body", None)
        rest = b"{" + b",".join(msgspec.json.encode(name) + b":" + bytes(value) for name, value in raw.items()) + b"}"
        return json.loads(rest), None if body is None else bytes(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass  # NaN, say, which the standard library takes
    except RecursionError:
        raise ValueError("nested too deeply") from None
    node = spans.parse(spans.decode_text(line))
    if not isinstance(node.value, dict):
        raise ValueError("expected an object")
    found = node.get("body")
    members = {name: value for name, value in node.value.items() if name != "body"}
    return members, None if found is None else node.text[found.start : found.end].encode("utf-8")
