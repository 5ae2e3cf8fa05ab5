"""OpenAI chat completions, as the official clients send and read them.

Field names and error objects: https://platform.openai.com/docs/api-reference/chat. `reasoning_content` is the spelling
of DeepSeek, vLLM and others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from hitrate.core.prompt import CanonicalPrompt
from hitrate.serve.practice.wire import (
    RESPONSE_ID,
    Answer,
    Event,
    Piece,
    PracticeRequest,
    Refused,
    Reply,
    Tool,
)
from hitrate.targets.dialects.openai_prompt import canonical

_encode = msgspec.json.encode
_FINISH = {"stop": "stop", "length": "length", "tool": "tool_calls"}


class OpenAIChat:
    path = "/v1/chat/completions"
    id_prefix = b"chatcmpl"
    end_mark: Event | None = Event(b"[DONE]")

    def read(self, body: bytes) -> PracticeRequest:
        try:
            sent = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Refused(400, f"the body is not valid JSON: {error}") from None
        if not isinstance(sent, dict):
            raise Refused(400, "the body is not a JSON object")
        messages = sent.get("messages")
        if not isinstance(messages, list) or not messages or not all(isinstance(part, dict) for part in messages):
            raise Refused(400, "'messages' has to be an array of at least one message object", param="messages")
        if sent.get("n") not in (None, 1):
            raise Refused(400, f"'n' is {sent['n']!r}; this server gives 1 choice", param="n")
        try:
            prompt = canonical(body)
        except ValueError as error:
            raise Refused(400, str(error)) from None
        tools = _tools(sent)
        choice = sent.get("tool_choice")
        return PracticeRequest(
            model=_text(sent, "model"),
            prompt=prompt,
            stream=sent.get("stream") is True,
            include_usage=isinstance(sent.get("stream_options"), dict)
            and sent["stream_options"].get("include_usage") is True,
            max_tokens=_max_tokens(sent),
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
        return _identified(whole | ({"usage": _usage(answer)} if answer.usage else {}))

    def opening(self, answer: Answer) -> list[Event]:
        return [_chunk(answer, {"role": "assistant", "content": ""})]

    def pieces(self, answer: Answer) -> Iterator[Event]:
        # All chunks of a stream are alike but for the delta; text, the usual one, is put between halves made once.
        before, after = _chunk(answer, {"content": ""}).data.split(b'""', 1)
        for piece in answer.reply.pieces:
            if piece.kind == "text":
                yield Event(before + _encode(piece.text) + after)
            else:
                yield _chunk(answer, _delta(piece, answer.reply))

    def closing(self, answer: Answer) -> list[Event]:
        events = [_chunk(answer, {}, _FINISH[answer.reply.finish])]
        if answer.usage:
            head = {"object": "chat.completion.chunk", "created": answer.created, "model": answer.model}
            events.append(Event(_identified({**head, "choices": [], "usage": _usage(answer)})))
        return events

    def error(self, refused: Refused) -> bytes:
        members = {"message": refused.message, "type": refused.kind, "param": refused.param, "code": refused.code}
        return _encode({"error": {**members, **refused.members}})


WIRE = OpenAIChat()


def _identified(members: dict[str, Any]) -> bytes:
    """JSON with `id` as its first member, RESPONSE_ID standing for the value."""
    return b'{"id":"' + RESPONSE_ID + b'",' + _encode(members)[1:]


def _chunk(answer: Answer, delta: dict[str, Any], finish: str | None = None) -> Event:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    head = {"object": "chat.completion.chunk", "created": answer.created, "model": answer.model}
    return Event(_identified({**head, "choices": [choice]}))


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


def _usage(answer: Answer) -> dict[str, Any]:
    generated = len(answer.reply.pieces)
    usage: dict[str, Any] = {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": generated,
        "total_tokens": answer.prompt_tokens + generated,
    }
    if answer.details == "full":
        usage["prompt_tokens_details"] = {"cached_tokens": answer.cached_tokens}
    elif answer.details == "null":
        usage["prompt_tokens_details"] = None
    reasoning = sum(piece.kind == "reasoning" for piece in answer.reply.pieces)
    if reasoning:
        usage["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    return usage


def _text(sent: dict[str, Any], name: str) -> str:
    value = sent.get(name)
    if not isinstance(value, str) or not value:
        raise Refused(400, f"{name!r} has to be a text", param=name)
    return value


def _max_tokens(sent: dict[str, Any]) -> int | None:
    for name in ("max_completion_tokens", "max_tokens"):
        value = sent.get(name)
        if value is not None:
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise Refused(400, f"{name!r} is {value!r}; it has to be a whole number of at least 1", param=name)
            return value
    return None


def _stop(sent: dict[str, Any]) -> tuple[str, ...]:
    value = sent.get("stop")
    texts = [value] if isinstance(value, str) else value or []
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Refused(400, "'stop' has to be a text or an array of texts", param="stop")
    return tuple(filter(None, texts))


def _tools(sent: dict[str, Any]) -> tuple[Tool, ...]:
    tools = sent.get("tools") or []
    functions = [tool.get("function") for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    return tuple(
        Tool(function["name"], function["parameters"] if isinstance(function.get("parameters"), dict) else {})
        for function in functions
        if isinstance(function, dict) and isinstance(function.get("name"), str)
    )


def _wanted_tool(choice: Any, tools: tuple[Tool, ...]) -> Tool | None:
    """The first tool for "required", the named one for a function choice."""
    if choice == "required":
        if not tools:
            raise Refused(400, "'tool_choice' is \"required\" but there are no tools", param="tool_choice")
        return tools[0]
    if isinstance(choice, dict):
        function = choice.get("function")
        name = function.get("name") if isinstance(function, dict) else None
        tool = next((tool for tool in tools if tool.name == name), None)
        if tool is None:
            raise Refused(400, f"'tool_choice' names {name!r}, which is not among the tools", param="tool_choice")
        return tool
    return None
