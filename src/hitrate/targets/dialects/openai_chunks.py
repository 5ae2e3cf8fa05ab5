"""The objects of a chat-completions stream, and the one of a plain reply, decoded as far as they are read.

The members that nobody reads are never made into Python objects, and those that are read have the type they are read
as: a member of another type is left out, as are elements of `choices` that are no objects.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from hitrate.targets.dialects.wire_json import error_text, objects_of, parse_object

Object = dict | None
Text = str | None


class Choice(msgspec.Struct, gc=False):
    index: Any = None
    delta: Object = None
    message: Object = None
    finish_reason: Text = None
    usage: Object = None
    token_ids: Any = None
    logprobs: Any = None


class Chunk(msgspec.Struct, gc=False):
    """`error` is one line on what went wrong, None in a chunk that is no error object."""

    id: Text = None
    model: Text = None
    choices: list[Choice] | None = None
    usage: Object = None
    timings: Object = None
    x_groq: Object = None
    time_info: Object = None
    perf_metrics: Object = None
    metrics: Object = None
    verbose: Object = msgspec.field(name="__verbose", default=None)
    tokens: Any = None
    object: Any = None
    type: Any = None
    error: Text = None


_decode = msgspec.json.Decoder(Chunk).decode

_Kind = TypeVar("_Kind", Choice, Chunk)


def parse_chunk(data: bytes) -> Chunk:
    """Raises ValueError, with the reason on one line, where `data` is no JSON object."""
    try:
        chunk = _decode(data)
        if not chunk.error and chunk.object != "error" and chunk.type != "error":
            chunk.error = None
            return chunk
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    value, fault = parse_object(data)
    if value is None:
        raise ValueError(fault)
    chunk = _members_of(Chunk, {**value, "error": error_text(value) or None})
    chunk.choices = [_members_of(Choice, one) for one in objects_of(value.get("choices"))]
    return chunk


def first_choice(chunk: Chunk) -> Choice | None:
    """The choice with index 0; servers that send one choice may leave the index out."""
    for choice in chunk.choices or ():
        if not choice.index:
            return choice
    return None


def _members_of(kind: type[_Kind], value: dict[str, Any]) -> _Kind:
    members = {}
    for field in msgspec.structs.fields(kind):
        member = value.get(field.encode_name)
        if field.type is Any or (field.name != "choices" and isinstance(member, field.type)):
            members[field.name] = member
    return kind(**members)
