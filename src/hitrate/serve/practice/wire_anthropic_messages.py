"""Anthropic Messages: https://platform.claude.com/docs/en/api/messages and .../build-with-claude/streaming.

`input_tokens` leaves out what was read from the cache and written to it. Signatures of thinking are made up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from itertools import groupby, pairwise
from typing import Any

import msgspec

from hitrate.core.prompt import CanonicalPrompt
from hitrate.serve.practice.framing import Event
from hitrate.serve.practice.reading import (
    array_of_objects,
    decode_object,
    first_tool,
    json_object,
    named_tool,
    objects,
    positive_integer,
    prompt_of,
    text,
    texts,
    tools_of,
)
from hitrate.serve.practice.vendors import Vendor
from hitrate.serve.practice.wire import (
    RESPONSE_ID,
    Answer,
    Piece,
    PracticeRequest,
    Refused,
    Reply,
    Tool,
    Wire,
    bearer_key,
)
from hitrate.targets.dialects.anthropic_prompt import canonical

_encode = msgspec.json.encode
_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool": "tool_use"}
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
"""https://platform.claude.com/docs/en/api/errors"""

_COUNTED_AS_ONE = ("tool_use", "tool_result")
"""Neighbouring blocks of these kinds are one step of a look-back."""

_ROLES = ("user", "assistant", "system")


class AnthropicMessages(Wire):
    name = "anthropic-messages"
    path = "/messages"
    id_prefix = b"msg"

    def key(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
        return headers.get("x-api-key") or bearer_key(headers)

    def read(self, body: bytes, place: Mapping[str, str]) -> PracticeRequest:
        sent = decode_object(body)
        messages = array_of_objects(sent, "messages")
        for number, message in enumerate(messages):
            if message.get("role") not in _ROLES:
                raise Refused(400, f"messages.{number}.role: expected one of {', '.join(_ROLES)}")
        max_tokens = positive_integer(sent, "max_tokens")
        if max_tokens is None:
            raise Refused(400, "max_tokens: Field required")
        tools = tools_of(objects(sent.get("tools")), "input_schema")
        choice = sent.get("tool_choice")
        last = objects(messages[-1].get("content"))
        return PracticeRequest(
            model=text(sent, "model"),
            prompt=prompt_of(canonical, body),
            sent=sent,
            stream=sent.get("stream") is True,
            include_usage=True,
            max_tokens=max_tokens,
            has_to_be_limited=True,
            stop=texts(sent, "stop_sequences"),
            tools=tools,
            wanted_tool=_wanted_tool(choice, tools),
            tools_forbidden=isinstance(choice, dict) and choice.get("type") == "none",
            answers_tool=any(block.get("type") == "tool_result" for block in last),
            joined_blocks=frozenset(_joined(messages)),
            message_settings=_settings(sent, messages),
        )

    def sent_back(self, reply: Reply) -> CanonicalPrompt:
        return canonical(_encode({"messages": [{"role": "assistant", "content": _blocks(reply)}]}))

    def body(self, answer: Answer) -> bytes:
        usage = _usage(answer) | {"output_tokens": len(answer.reply.pieces)}
        return _message(answer, _blocks(answer.reply), _STOP_REASONS[answer.reply.finish], usage)

    def opening(self, answer: Answer) -> list[Event]:
        started = _message(answer, [], None, _usage(answer) | {"output_tokens": 1})
        return [Event(b'{"type":"message_start","message":' + started + b"}", b"message_start")]

    def pieces(self, answer: Answer) -> Iterator[list[Event]]:
        runs = [list(run) for _, run in groupby(answer.reply.pieces, key=_block_kind)]
        for index, (run, block) in enumerate(zip(runs, _blocks(answer.reply), strict=True)):
            for number, piece in enumerate(run):
                events = [_event("content_block_start", index, content_block=_opened(block))] if number == 0 else []
                if piece.text:
                    events.append(_event("content_block_delta", index, delta=_delta(piece)))
                if number == len(run) - 1:
                    events += _end_of_block(block, index)
                yield events

    def closing(self, answer: Answer) -> list[Event]:
        delta = {"stop_reason": _STOP_REASONS[answer.reply.finish], "stop_sequence": None}
        usage = {"usage": _usage(answer) | {"output_tokens": len(answer.reply.pieces)}} if answer.usage else {}
        ended = {"type": "message_delta", "delta": delta, **usage}
        return [Event(_encode(ended), b"message_delta"), Event(b'{"type":"message_stop"}', b"message_stop")]

    def error(self, refused: Refused) -> bytes:
        kind = _ERROR_TYPES.get(refused.status, "api_error" if refused.status >= 500 else "invalid_request_error")
        error = {"type": kind, "message": refused.message, **refused.members}
        return _encode({"type": "error", "error": error, "request_id": None})

    def error_event(self, refused: Refused) -> Event:
        return Event(self.error(refused), b"error")


def make(vendor: Vendor | None) -> Wire:
    """The same in every vendor's manner."""
    return AnthropicMessages()


def _block_kind(piece: Piece) -> str:
    return {"reasoning": "thinking", "text": "text"}.get(piece.kind, "tool_use")


def _blocks(reply: Reply) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if reply.reasoning:
        signature = hashlib.blake2b(reply.reasoning.encode(), digest_size=24).hexdigest()
        blocks.append({"type": "thinking", "thinking": reply.reasoning, "signature": signature})
    if reply.tool_call is not None:
        call = reply.tool_call
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": json_object(call.arguments)})
    elif any(piece.kind == "text" for piece in reply.pieces):
        blocks.append({"type": "text", "text": reply.text})
    return blocks


_EMPTY: dict[str, dict[str, Any]] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
}


def _opened(block: dict[str, Any]) -> dict[str, Any]:
    return {**block, **_EMPTY[block["type"]]}


def _delta(piece: Piece) -> dict[str, Any]:
    if piece.kind == "reasoning":
        return {"type": "thinking_delta", "thinking": piece.text}
    if piece.kind == "text":
        return {"type": "text_delta", "text": piece.text}
    return {"type": "input_json_delta", "partial_json": piece.text}


def _end_of_block(block: dict[str, Any], index: int) -> list[Event]:
    stop = _event("content_block_stop", index)
    if block["type"] != "thinking":
        return [stop]
    signature = {"type": "signature_delta", "signature": block["signature"]}
    return [_event("content_block_delta", index, delta=signature), stop]


def _event(name: str, index: int, **members: Any) -> Event:
    return Event(_encode({"type": name, "index": index, **members}), name.encode())


def _message(answer: Answer, content: list[dict[str, Any]], stop_reason: str | None, usage: dict[str, Any]) -> bytes:
    """A message object, RESPONSE_ID standing for its id."""
    members: dict[str, Any] = {
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
    }
    if answer.usage:
        members["usage"] = usage
    return b'{"id":"' + RESPONSE_ID + b'",' + _encode(members)[1:]


def _usage(answer: Answer) -> dict[str, Any]:
    """Input, reads and writes side by side; an engine that does not tell reads has them all in `input_tokens`."""
    if answer.details == "absent":
        return {"input_tokens": answer.prompt_tokens}
    if answer.details == "null":
        return {"input_tokens": answer.prompt_tokens, "cache_read_input_tokens": None}
    usage: dict[str, Any] = {"input_tokens": answer.fresh_tokens, "cache_read_input_tokens": answer.cached_tokens}
    if answer.written is None:
        return usage
    usage["cache_creation_input_tokens"] = answer.written_tokens
    if "5m" not in answer.written:
        return usage
    by_lifetime = {f"ephemeral_{name}_input_tokens": answer.written.get(name, 0) for name in ("5m", "1h")}
    return usage | {"cache_creation": by_lifetime}


def _joined(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Pointers of blocks whose neighbour behind them is of the same kind and counts with them as one."""
    for number, message in enumerate(messages):
        kinds = [block.get("type") for block in objects(message.get("content"))]
        for index, (kind, following) in enumerate(pairwise(kinds)):
            if kind == following and kind in _COUNTED_AS_ONE:
                yield f"/messages/{number}/content/{index}"


def _settings(sent: dict[str, Any], messages: list[dict[str, Any]]) -> str:
    """tool_choice, thinking, effort, and whether there are images: a change of one makes all messages new to the cache,
    says "What invalidates the cache" in https://platform.claude.com/docs/en/build-with-claude/prompt-caching."""
    choice = sent.get("tool_choice")
    thinking = json_object(sent.get("thinking"))
    settings = {
        "tool_choice": choice if choice != {"type": "auto"} else None,
        "thinking": thinking if thinking.get("type") != "disabled" else None,
        "effort": json_object(sent.get("output_config")).get("effort"),
        "images": any(
            block.get("type") == "image" for message in messages for block in objects(message.get("content"))
        ),
    }
    told = {name: value for name, value in settings.items() if value}
    return _encode(told).decode() if told else ""


def _wanted_tool(choice: Any, tools: tuple[Tool, ...]) -> Tool | None:
    """The first tool for "any", the named one for a tool choice."""
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind == "any":
        return first_tool(tools)
    return named_tool(tools, choice.get("name")) if kind == "tool" else None
