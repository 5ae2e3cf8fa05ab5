"""Gemini generateContent and streamGenerateContent?alt=sse: https://ai.google.dev/api/generate-content.

`promptTokenCount` holds what was read from a cache; `cachedContentTokenCount` is left out when that is nothing, and
`candidatesTokenCount` leaves out the thoughts. A function call comes whole, in one chunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

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
    texts,
    tools_of,
)
from hitrate.serve.practice.vendors import Vendor
from hitrate.serve.practice.wire import (
    RESPONSE_ID,
    Answer,
    PracticeRequest,
    Refused,
    Reply,
    Tool,
    Wire,
    bearer_key,
)
from hitrate.targets.dialects.gemini_prompt import canonical

_encode = msgspec.json.encode
_FINISH = {"stop": "STOP", "length": "MAX_TOKENS", "tool": "STOP"}
_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}
"""https://ai.google.dev/gemini-api/docs/troubleshooting"""

_PART_OF_THE_OBJECT = ("systemInstruction", "tools", "toolConfig")


class GeminiGenerate(Wire):
    name = "gemini-generate"
    path = r"(?:/publishers/google)?/models/(?P<model>[^/:]+):(?P<method>generateContent|streamGenerateContent)"
    id_prefix = b"practice"

    def key(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
        return headers.get("x-goog-api-key") or query.get("key") or bearer_key(headers)

    def read(self, body: bytes, place: Mapping[str, str]) -> PracticeRequest:
        streams = place["method"] == "streamGenerateContent"
        if streams and place.get("alt") != "sse":
            raise Refused(400, "this server streams with ?alt=sse alone")
        sent = decode_object(body)
        contents = array_of_objects(sent, "contents", "content")
        config = json_object(member(sent, "generationConfig"))
        cached_object = member(sent, "cachedContent")
        if cached_object is not None:
            for name in _PART_OF_THE_OBJECT:
                if member(sent, name) is not None:
                    raise Refused(400, f"a request with cachedContent cannot set {name}: it belongs into the object")
        tools = _tools(sent)
        calling = json_object(member(json_object(member(sent, "toolConfig")), "functionCallingConfig"))
        last = objects(contents[-1].get("parts"))
        return PracticeRequest(
            model=place["model"],
            # An object's tokens come first in the prompt: its name need not part the cache.
            prompt=replace(prompt_of(canonical, body), namespace=(place["model"],)),
            sent=sent,
            stream=streams,
            include_usage=True,
            max_tokens=positive_integer({"maxOutputTokens": member(config, "maxOutputTokens")}, "maxOutputTokens"),
            stop=texts({"stopSequences": member(config, "stopSequences")}, "stopSequences"),
            tools=tools,
            wanted_tool=_wanted_tool(calling, tools),
            tools_forbidden=calling.get("mode") == "NONE",
            answers_tool=any(member(part, "functionResponse") is not None for part in last),
            cached_object=cached_object if isinstance(cached_object, str) else None,
        )

    def sent_back(self, reply: Reply) -> CanonicalPrompt:
        return canonical(_encode({"contents": [{"role": "model", "parts": _parts(reply)}]}))

    def body(self, answer: Answer) -> bytes:
        return _chunk(answer, _parts(answer.reply), _FINISH[answer.reply.finish], len(answer.reply.pieces))

    def pieces(self, answer: Answer) -> Iterator[list[Event]]:
        pieces = answer.reply.pieces
        for index, piece in enumerate(pieces):
            is_last = index == len(pieces) - 1
            finish = _FINISH[answer.reply.finish] if is_last else None
            if piece.kind in ("text", "reasoning"):
                part: dict[str, Any] = {"text": piece.text}
                if piece.kind == "reasoning":
                    part["thought"] = True
                yield [Event(_chunk(answer, [part], finish, index + 1))]
            else:
                calls = [part for part in _parts(answer.reply) if "functionCall" in part]
                yield [Event(_chunk(answer, calls, finish, index + 1))] if is_last else []

    def closing(self, answer: Answer) -> list[Event]:
        """Nothing: the last piece's chunk has the finish reason and the counts."""
        return []

    def error(self, refused: Refused) -> bytes:
        status = _STATUS.get(refused.status, "INTERNAL" if refused.status >= 500 else "INVALID_ARGUMENT")
        return _encode({"error": {"code": refused.status, "message": refused.message, "status": status}})


def make(vendor: Vendor | None) -> Wire:
    """The same in every vendor's manner."""
    return GeminiGenerate()


def member(sent: Mapping[str, Any], name: str) -> Any:
    """A member in the spelling of JSON or of the protocol buffers, both of which the API takes."""
    value = sent.get(name)
    if value is not None:
        return value
    return sent.get("".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name))


def _tools(sent: Mapping[str, Any]) -> tuple[Tool, ...]:
    functions = [
        {**one, "schema": member(one, "parametersJsonSchema") or _json_schema(one.get("parameters"))}
        for tool in objects(member(sent, "tools"))
        for one in objects(member(tool, "functionDeclarations"))
    ]
    return tools_of(functions, "schema")


def _json_schema(schema: Any) -> Any:
    """Gemini's own schemas have their types in capitals."""
    if isinstance(schema, dict):
        return {
            name: value.lower() if name == "type" and isinstance(value, str) else _json_schema(value)
            for name, value in schema.items()
        }
    return [_json_schema(one) for one in schema] if isinstance(schema, list) else schema


def _wanted_tool(calling: Mapping[str, Any], tools: tuple[Tool, ...]) -> Tool | None:
    """The first function of those allowed, for the mode ANY."""
    if calling.get("mode") != "ANY":
        return None
    allowed = member(calling, "allowedFunctionNames")
    if isinstance(allowed, list) and allowed:
        return named_tool(tools, allowed[0], "allowedFunctionNames")
    return first_tool(tools, "functionCallingConfig")


def _parts(reply: Reply) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    if reply.reasoning:
        parts.append({"text": reply.reasoning, "thought": True})
    if reply.tool_call is not None:
        call = reply.tool_call
        parts.append({"functionCall": {"id": call.id, "name": call.name, "args": json_object(call.arguments)}})
    elif any(piece.kind == "text" for piece in reply.pieces):
        parts.append({"text": reply.text})
    return parts


def _chunk(answer: Answer, parts: list[dict[str, Any]], finish: str | None, generated: int) -> bytes:
    """One object of a stream, or the whole reply; `generated` tokens have been said with it."""
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    members: dict[str, Any] = {"candidates": [candidate], "modelVersion": answer.model}
    if answer.usage:
        members["usageMetadata"] = _usage(answer, generated)
    return b'{"responseId":"' + RESPONSE_ID + b'",' + _encode(members)[1:]


def _usage(answer: Answer, generated: int) -> dict[str, Any]:
    thoughts = min(answer.reply.reasoning_tokens, generated)
    usage: dict[str, Any] = {
        "promptTokenCount": answer.prompt_tokens,
        "candidatesTokenCount": generated - thoughts,
        "totalTokenCount": answer.prompt_tokens + generated,
    }
    if thoughts:
        usage["thoughtsTokenCount"] = thoughts
    if answer.details == "null":
        usage["cachedContentTokenCount"] = None
    elif answer.details == "full" and answer.cached_tokens:
        usage["cachedContentTokenCount"] = answer.cached_tokens
        usage["cacheTokensDetails"] = [{"modality": "TEXT", "tokenCount": answer.cached_tokens}]
    return usage
