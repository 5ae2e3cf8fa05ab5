"""OpenAI chat completions, as the official clients send and read them, and as other vendors bend them.

Field names and error objects: https://platform.openai.com/docs/api-reference/chat. `reasoning_content` is the spelling
of DeepSeek, vLLM and others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from hitrate.core.prompt import CanonicalPrompt
from hitrate.serve.practice.figures import lay_out
from hitrate.serve.practice.framing import Event
from hitrate.serve.practice.reading import (
    array_of_objects,
    decode_object,
    first_tool,
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
from hitrate.targets.dialects.openai_prompt import canonical

_encode = msgspec.json.encode
_FINISH = {"stop": "stop", "length": "length", "tool": "tool_calls"}
_OWN_USAGE = {"usage.prompt_tokens_details.cached_tokens": "cached"}


class OpenAIChat(Wire):
    name = "openai-chat"
    path = "/chat/completions"
    id_prefix = b"chatcmpl"
    end_mark = Event(b"[DONE]")

    def __init__(self, vendor: Vendor | None = None) -> None:
        self._usage_paths = _OWN_USAGE if vendor is None else vendor.usage
        self._usage_when_asked = {} if vendor is None else vendor.usage_when_asked
        self._stream_usage = "asked" if vendor is None else vendor.stream_usage
        self._error_shape = "openai" if vendor is None else vendor.error_shape

    def key(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
        return bearer_key(headers) or headers.get("api-key")  # the latter on Azure

    def read(self, body: bytes, place: Mapping[str, str]) -> PracticeRequest:
        sent = decode_object(body)
        messages = array_of_objects(sent, "messages")
        if sent.get("n") not in (None, 1):
            raise Refused(400, f"'n' is {sent['n']!r}; this server gives 1 choice", param="n")
        prompt = prompt_of(canonical, body)
        tools = _tools(sent)
        choice = sent.get("tool_choice")
        return PracticeRequest(
            model=text(sent, "model"),
            prompt=prompt,
            sent=sent,
            stream=sent.get("stream") is True,
            include_usage=self._stream_usage != "asked"
            or (isinstance(sent.get("stream_options"), dict) and sent["stream_options"].get("include_usage") is True),
            max_tokens=positive_integer(sent, "max_completion_tokens", "max_tokens"),
            stop=_stop(sent),
            tools=tools,
            wanted_tool=_wanted_tool(choice, tools),
            tools_forbidden=choice == "none",
            answers_tool=messages[-1].get("role") in ("tool", "function"),
        )

    def sent_back(self, reply: Reply) -> CanonicalPrompt:
        return canonical(_encode({"messages": [_message(reply)]}))

    def body(self, answer: Answer) -> bytes:
        reply = answer.reply
        choice = {"index": 0, "message": _message(reply), "logprobs": None, "finish_reason": _FINISH[reply.finish]}
        whole = {"object": "chat.completion", "created": answer.created, "model": answer.model, "choices": [choice]}
        return _identified(whole | (self._reports(answer) if answer.usage else {}))

    def opening(self, answer: Answer) -> list[Event]:
        return [_chunk(answer, {"role": "assistant", "content": ""})]

    def pieces(self, answer: Answer) -> Iterator[tuple[Event]]:
        # All chunks of a stream are alike but for the delta; text, the usual one, is put between halves made once.
        before, after = _chunk(answer, {"content": ""}).data.split(b'""', 1)
        for piece in answer.reply.pieces:
            if piece.kind == "text":
                yield (Event(before + _encode(piece.text) + after),)
            else:
                yield (_chunk(answer, _delta(piece, answer.reply)),)

    def closing(self, answer: Answer) -> list[Event]:
        finish = _FINISH[answer.reply.finish]
        if not answer.usage:
            return [_chunk(answer, {}, finish)]
        reports = self._reports(answer)
        if self._stream_usage == "in choice":
            return [_chunk(answer, {}, finish, in_choice={"usage": reports.pop("usage")}, beside=reports)]
        if self._stream_usage == "always":
            return [_chunk(answer, {}, finish, beside=reports)]
        head = {"object": "chat.completion.chunk", "created": answer.created, "model": answer.model}
        return [_chunk(answer, {}, finish), Event(_identified({**head, "choices": [], **reports}))]

    def error(self, refused: Refused) -> bytes:
        members = {"message": refused.message, "type": refused.kind, "param": refused.param, "code": refused.code}
        if self._error_shape == "flat":
            return _encode({"object": "error", **members, **refused.members})
        if self._error_shape == "text":
            return _encode({"code": refused.code or refused.kind, "error": refused.message})
        if self._error_shape == "status code":
            members["code"] = refused.status  # type: ignore[assignment]
        return _encode({"error": {**members, **refused.members}})

    def _reports(self, answer: Answer) -> dict[str, Any]:
        """`usage`, and what the vendor reports beside it."""
        generated = len(answer.reply.pieces)
        usage = {
            "prompt_tokens": answer.prompt_tokens,
            "completion_tokens": generated,
            "total_tokens": answer.prompt_tokens + generated,
        }
        reports: dict[str, Any] = {"usage": usage}
        lay_out(self._usage_paths, answer, reports)
        for member, paths in self._usage_when_asked.items():
            if answer.sent.get(member) is True:
                lay_out(paths, answer, reports)
        if answer.reply.reasoning_tokens:
            reports["usage"]["completion_tokens_details"] = {"reasoning_tokens": answer.reply.reasoning_tokens}
        return reports


WIRE = OpenAIChat()
make = OpenAIChat


def _identified(members: dict[str, Any]) -> bytes:
    """JSON with `id` as its first member, RESPONSE_ID standing for the value."""
    return b'{"id":"' + RESPONSE_ID + b'",' + _encode(members)[1:]


def _chunk(
    answer: Answer,
    delta: dict[str, Any],
    finish: str | None = None,
    *,
    in_choice: Mapping[str, Any] = {},
    beside: Mapping[str, Any] = {},
) -> Event:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish, **in_choice}
    head = {"object": "chat.completion.chunk", "created": answer.created, "model": answer.model}
    return Event(_identified({**head, "choices": [choice], **beside}))


def _delta(piece: Piece, reply: Reply) -> dict[str, Any]:
    if piece.kind == "reasoning":
        return {"reasoning_content": piece.text}
    if piece.kind == "arguments":
        return {"tool_calls": [{"index": 0, "function": {"arguments": piece.text}}]}
    call = reply.tool_call
    assert call is not None
    opened = {"index": 0, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
    return {"tool_calls": [opened]}


def _message(reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text if reply.tool_call is None else None}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_call is not None:
        call = reply.tool_call
        function = {"name": call.name, "arguments": call.arguments}
        message["tool_calls"] = [{"id": call.id, "type": "function", "function": function}]
    return message


def _stop(sent: dict[str, Any]) -> tuple[str, ...]:
    value = sent.get("stop")
    return (value,) if isinstance(value, str) and value else texts({"stop": value or None}, "stop")


def _tools(sent: dict[str, Any]) -> tuple[Tool, ...]:
    return tools_of((tool.get("function") for tool in objects(sent.get("tools"))), "parameters")


def _wanted_tool(choice: Any, tools: tuple[Tool, ...]) -> Tool | None:
    """The first tool for "required", the named one for a function choice."""
    if choice == "required":
        return first_tool(tools)
    if isinstance(choice, dict):
        function = choice.get("function")
        return named_tool(tools, function.get("name") if isinstance(function, dict) else None)
    return None
