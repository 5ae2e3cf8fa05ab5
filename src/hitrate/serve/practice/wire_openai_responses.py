"""OpenAI Responses: https://platform.openai.com/docs/api-reference/responses and .../responses-streaming.

The server keeps no responses: `previous_response_id` is refused, the whole input has to come with each call. Ids of
output items follow from their content, so that a stream, a body and the next turn have the same ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import msgspec

from hitrate.core.prompt import CanonicalPrompt
from hitrate.serve.practice.framing import Event
from hitrate.serve.practice.reading import (
    decode_object,
    first_tool,
    named_tool,
    objects,
    positive_integer,
    prompt_of,
    text,
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
from hitrate.targets.dialects.openai_responses_prompt import canonical

_encode = msgspec.json.encode
_OPENING = ("response.created", "response.in_progress")
_RESULTS = ("function_call_output", "custom_tool_call_output")


class OpenAIResponses(Wire):
    name = "openai-responses"
    path = "/responses"
    id_prefix = b"resp"

    def key(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
        return bearer_key(headers) or headers.get("api-key")  # the latter on Azure

    def read(self, body: bytes, place: Mapping[str, str]) -> PracticeRequest:
        sent = decode_object(body)
        for name in ("previous_response_id", "conversation"):
            if sent.get(name) is not None:
                message = f"'{name}': this server keeps no responses; send the whole conversation as 'input'"
                raise Refused(400, message, "previous_response_not_found", param=name)
        prompt = prompt_of(canonical, body)
        if not prompt.segments:
            raise Refused(400, "'input' has to be a text or an array of at least one item", param="input")
        tools = tools_of((tool for tool in objects(sent.get("tools")) if tool.get("type") == "function"), "parameters")
        choice = sent.get("tool_choice")
        last = (objects(sent.get("input")) or [{}])[-1]
        return PracticeRequest(
            model=text(sent, "model"),
            prompt=prompt,
            sent=sent,
            stream=sent.get("stream") is True,
            include_usage=True,
            max_tokens=positive_integer(sent, "max_output_tokens"),
            tools=tools,
            wanted_tool=_wanted_tool(choice, tools),
            tools_forbidden=choice == "none",
            answers_tool=last.get("type") in _RESULTS,
        )

    def sent_back(self, reply: Reply) -> CanonicalPrompt:
        return canonical(_encode({"input": _output(reply)}))

    def body(self, answer: Answer) -> bytes:
        return _response(answer, _output(answer.reply), ended=True)

    def opening(self, answer: Answer) -> list[Event]:
        started = b'"response":' + _response(answer, [], ended=False)
        return [_event(name, number, started) for number, name in enumerate(_OPENING)]

    def pieces(self, answer: Answer) -> Iterator[list[Event]]:
        numbers = _Numbers(len(_OPENING))
        output = _output(answer.reply)
        runs = [list(run) for _, run in groupby(answer.reply.pieces, key=_item_kind)]
        for index, (run, item) in enumerate(zip(runs, output, strict=True)):
            stream = _STREAMS[item["type"]](item, index, numbers)
            for number, piece in enumerate(run):
                events = stream.opened() if number == 0 else []
                if piece.text:
                    events.append(stream.delta(piece))
                if number == len(run) - 1:
                    events += stream.closed()
                yield events

    def closing(self, answer: Answer) -> list[Event]:
        number = len(_OPENING) + sum(len(events) for events in self.pieces(answer))
        name = "response.incomplete" if answer.reply.finish == "length" else "response.completed"
        return [_event(name, number, b'"response":' + self.body(answer))]

    def error(self, refused: Refused) -> bytes:
        members = {"message": refused.message, "type": refused.kind, "param": refused.param, "code": refused.code}
        return _encode({"error": {**members, **refused.members}})

    def error_event(self, refused: Refused) -> Event:
        members = {"type": "error", "code": refused.code, "message": refused.message, "param": refused.param}
        return Event(_encode(members | {"sequence_number": 0}), b"error")


def make(vendor: Vendor | None) -> Wire:
    """The same in every vendor's manner."""
    return OpenAIResponses()


class _Numbers:
    def __init__(self, first: int) -> None:
        self._next = first

    def take(self) -> int:
        self._next += 1
        return self._next - 1


class _ItemStream:
    """The events of one output item."""

    def __init__(self, item: dict[str, Any], index: int, numbers: _Numbers) -> None:
        self.item = item
        self.place = {"item_id": item["id"], "output_index": index}
        self._index = index
        self._numbers = numbers

    def opened(self) -> list[Event]:
        empty = {**self.item, "status": "in_progress", **self.empty()}
        return [self.event("response.output_item.added", {"output_index": self._index, "item": empty})]

    def delta(self, piece: Piece) -> Event:
        raise NotImplementedError

    def closed(self) -> list[Event]:
        return [self.event("response.output_item.done", {"output_index": self._index, "item": self.item})]

    def empty(self) -> dict[str, Any]:
        raise NotImplementedError

    def event(self, name: str, members: dict[str, Any]) -> Event:
        return _event(name, self._numbers.take(), _encode(members)[1:-1])


class _TextStream(_ItemStream):
    """A message of one text, or reasoning as text."""

    kind = "output_text"

    def __init__(self, item: dict[str, Any], index: int, numbers: _Numbers) -> None:
        super().__init__(item, index, numbers)
        self.place["content_index"] = 0
        self._part = item["content"][0]

    def empty(self) -> dict[str, Any]:
        return {"content": []}

    def opened(self) -> list[Event]:
        part = {**self._part, "text": ""}
        return [*super().opened(), self.event("response.content_part.added", {**self.place, "part": part})]

    def delta(self, piece: Piece) -> Event:
        return self.event(f"response.{self.kind}.delta", {**self.place, "delta": piece.text, **self._logprobs()})

    def closed(self) -> list[Event]:
        done = self.event(f"response.{self.kind}.done", {**self.place, "text": self._part["text"], **self._logprobs()})
        part = self.event("response.content_part.done", {**self.place, "part": self._part})
        return [done, part, *super().closed()]

    def _logprobs(self) -> dict[str, Any]:
        return {"logprobs": []} if self.kind == "output_text" else {}


class _ReasoningStream(_TextStream):
    kind = "reasoning_text"


class _CallStream(_ItemStream):
    def empty(self) -> dict[str, Any]:
        return {"arguments": ""}

    def delta(self, piece: Piece) -> Event:
        return self.event("response.function_call_arguments.delta", {**self.place, "delta": piece.text})

    def closed(self) -> list[Event]:
        told = {**self.place, "name": self.item["name"], "arguments": self.item["arguments"]}
        return [self.event("response.function_call_arguments.done", told), *super().closed()]


_STREAMS: dict[str, type[_ItemStream]] = {
    "message": _TextStream,
    "reasoning": _ReasoningStream,
    "function_call": _CallStream,
}


def _item_kind(piece: Piece) -> str:
    return {"reasoning": "reasoning", "text": "message"}.get(piece.kind, "function_call")


def _event(name: str, number: int, members: bytes) -> Event:
    return Event(b'{"type":"%s","sequence_number":%d,%s}' % (name.encode(), number, members), name.encode())


def _output(reply: Reply) -> list[dict[str, Any]]:
    """The items of a reply, one a run of pieces of its kind."""
    items: list[dict[str, Any]] = []
    status = "incomplete" if reply.finish == "length" else "completed"
    if reply.reasoning:
        told = [{"type": "reasoning_text", "text": reply.reasoning}]
        items.append({"type": "reasoning", "id": _id("rs", reply.reasoning), "summary": [], "content": told})
    if reply.tool_call is not None:
        call = reply.tool_call
        items.append(
            {
                "type": "function_call",
                "id": _id("fc", call.id),
                "call_id": call.id,
                "name": call.name,
                "arguments": call.arguments,
                "status": status,
            }
        )
    elif any(piece.kind == "text" for piece in reply.pieces):
        spoken = [{"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}]
        head = {"type": "message", "id": _id("msg", reply.text), "role": "assistant", "status": status}
        items.append({**head, "content": spoken})
    return items


def _id(prefix: str, content: str) -> str:
    return f"{prefix}_{hashlib.blake2b(content.encode(), digest_size=12).hexdigest()}"


def _response(answer: Answer, output: list[dict[str, Any]], *, ended: bool) -> bytes:
    """A response object, RESPONSE_ID standing for its id."""
    cut = answer.reply.finish == "length"
    sent = answer.sent
    members = {
        "object": "response",
        "created_at": answer.created,
        "status": "in_progress" if not ended else "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if ended and cut else None,
        "instructions": sent.get("instructions"),
        "max_output_tokens": sent.get("max_output_tokens"),
        "metadata": sent.get("metadata") or {},
        "model": answer.model,
        "output": output,
        "parallel_tool_calls": sent.get("parallel_tool_calls", True),
        "temperature": sent.get("temperature", 1.0),
        "tool_choice": sent.get("tool_choice", "auto"),
        "tools": sent.get("tools") or [],
        "top_p": sent.get("top_p", 1.0),
        "usage": _usage(answer) if ended and answer.usage else None,
    }
    return b'{"id":"' + RESPONSE_ID + b'",' + _encode(members)[1:]


def _usage(answer: Answer) -> dict[str, Any]:
    """Reads and writes are part of `input_tokens`."""
    generated = len(answer.reply.pieces)
    details: dict[str, Any] = {"cached_tokens": answer.cached_tokens}
    if answer.written is not None:
        details["cache_write_tokens"] = answer.written_tokens
        if "30m" in answer.written:
            by_lifetime = {f"ttl_{name}_tokens": tokens for name, tokens in answer.written.items()}
            details["cache_write_tokens_details"] = by_lifetime
    shown: dict[str, dict[str, Any]] = {
        "full": {"input_tokens_details": details},
        "null": {"input_tokens_details": None},
        "absent": {},
    }
    return {
        "input_tokens": answer.prompt_tokens,
        **shown[answer.details],
        "output_tokens": generated,
        "output_tokens_details": {"reasoning_tokens": answer.reply.reasoning_tokens},
        "total_tokens": answer.prompt_tokens + generated,
    }


def _wanted_tool(choice: Any, tools: tuple[Tool, ...]) -> Tool | None:
    """The first tool for "required", the named one for a function choice."""
    if choice == "required":
        return first_tool(tools)
    return (
        named_tool(tools, choice.get("name")) if isinstance(choice, dict) and choice.get("type") == "function" else None
    )
