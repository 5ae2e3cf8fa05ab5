"""Bedrock's Converse and ConverseStream:
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html and ..._ConverseStream.html

`inputTokens` leaves out what was read from the cache and written to it. Signatures of requests are not verified.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import msgspec

from hitrate.core.prompt import CanonicalPrompt
from hitrate.serve.practice.framing import AWS_EVENTSTREAM, Event
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
from hitrate.serve.practice.wire import Answer, Headers, Piece, PracticeRequest, Refused, Reply, Tool, Wire, bearer_key
from hitrate.targets.dialects.bedrock_prompt import canonical

_encode = msgspec.json.encode
_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool": "tool_use"}
_EXCEPTIONS = {
    400: "ValidationException",
    401: "AccessDeniedException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    429: "ThrottlingException",
    503: "ServiceUnavailableException",
}
"""Errors of the Converse operation, by status."""


class BedrockConverse(Wire):
    name = "bedrock-converse"
    path = r"/model/(?P<model>.+)/(?P<method>converse|converse-stream)"
    framing = AWS_EVENTSTREAM

    def key(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
        """A Bedrock API key, or the access key that a signature names."""
        signed = headers.get("authorization", "").partition("Credential=")[2]
        return bearer_key(headers) or signed.partition("/")[0] or None

    def read(self, body: bytes, place: Mapping[str, str]) -> PracticeRequest:
        sent = decode_object(body)
        messages = array_of_objects(sent, "messages")
        config = json_object(sent.get("inferenceConfig"))
        tools, wanted = _tools(json_object(sent.get("toolConfig")))
        last = objects(messages[-1].get("content"))
        return PracticeRequest(
            model=place["model"],
            prompt=prompt_of(canonical, body),
            sent=sent,
            stream=place["method"] == "converse-stream",
            include_usage=True,
            max_tokens=positive_integer(config, "maxTokens"),
            stop=texts(config, "stopSequences"),
            tools=tools,
            wanted_tool=wanted,
            answers_tool=any("toolResult" in block for block in last),
        )

    def sent_back(self, reply: Reply) -> CanonicalPrompt:
        return canonical(_encode({"messages": [{"role": "assistant", "content": _blocks(reply)}]}))

    def body(self, answer: Answer) -> bytes:
        message = {"role": "assistant", "content": _blocks(answer.reply)}
        ended = {"output": {"message": message}, "stopReason": _STOP_REASONS[answer.reply.finish]}
        return _encode(ended | _report(answer))

    def opening(self, answer: Answer) -> list[Event]:
        return [_event("messageStart", role="assistant")]

    def pieces(self, answer: Answer) -> Iterator[list[Event]]:
        runs = [list(run) for _, run in groupby(answer.reply.pieces, key=_block_kind)]
        for index, (run, block) in enumerate(zip(runs, _blocks(answer.reply), strict=True)):
            for number, piece in enumerate(run):
                events = _opening(block, index) if number == 0 else []
                if piece.text:
                    events.append(_delta(index, _delta_of(piece)))
                if number == len(run) - 1:
                    events += _ending(block, index)
                yield events

    def closing(self, answer: Answer) -> list[Event]:
        stop = _event("messageStop", stopReason=_STOP_REASONS[answer.reply.finish])
        return [stop, _event("metadata", **_report(answer))]

    def error(self, refused: Refused) -> bytes:
        return _encode({"message": refused.message})

    def error_headers(self, refused: Refused) -> Headers:
        kind = _EXCEPTIONS.get(
            refused.status, "InternalServerException" if refused.status >= 500 else "ValidationException"
        )
        return [(b"x-amzn-errortype", kind.encode())]

    def error_event(self, refused: Refused) -> Event:
        return Event(self.error(refused), b"internalServerException")


def make(vendor: Vendor | None) -> Wire:
    """The same in every vendor's manner."""
    return BedrockConverse()


def _tools(config: Mapping[str, Any]) -> tuple[tuple[Tool, ...], Tool | None]:
    """The tools, and the one that has to be called: the first for `any`, the named one for `tool`."""
    functions = [
        {**spec, "schema": json_object(spec.get("inputSchema")).get("json")}
        for tool in objects(config.get("tools"))
        if (spec := json_object(tool.get("toolSpec")))
    ]
    tools = tools_of(functions, "schema")
    choice = json_object(config.get("toolChoice"))
    if "any" in choice:
        return tools, first_tool(tools, "toolChoice")
    if "tool" in choice:
        return tools, named_tool(tools, json_object(choice["tool"]).get("name"), "toolChoice")
    return tools, None


def _block_kind(piece: Piece) -> str:
    return piece.kind if piece.kind in ("reasoning", "text") else "toolUse"


def _blocks(reply: Reply) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if reply.reasoning:
        signature = hashlib.blake2b(reply.reasoning.encode(), digest_size=24).hexdigest()
        blocks.append({"reasoningContent": {"reasoningText": {"text": reply.reasoning, "signature": signature}}})
    if reply.tool_call is not None:
        call = reply.tool_call
        use = {"toolUseId": call.id, "name": call.name, "input": json_object(call.arguments)}
        blocks.append({"toolUse": use})
    elif any(piece.kind == "text" for piece in reply.pieces):
        blocks.append({"text": reply.text})
    return blocks


def _opening(block: dict[str, Any], index: int) -> list[Event]:
    """Only a tool's block has an opening of its own."""
    if "toolUse" not in block:
        return []
    use = {name: block["toolUse"][name] for name in ("toolUseId", "name")}
    return [_event("contentBlockStart", contentBlockIndex=index, start={"toolUse": use})]


def _delta_of(piece: Piece) -> dict[str, Any]:
    if piece.kind == "reasoning":
        return {"reasoningContent": {"text": piece.text}}
    return {"text": piece.text} if piece.kind == "text" else {"toolUse": {"input": piece.text}}


def _ending(block: dict[str, Any], index: int) -> list[Event]:
    stop = _event("contentBlockStop", contentBlockIndex=index)
    if "reasoningContent" not in block:
        return [stop]
    signature = block["reasoningContent"]["reasoningText"]["signature"]
    return [_delta(index, {"reasoningContent": {"signature": signature}}), stop]


def _delta(index: int, delta: dict[str, Any]) -> Event:
    return _event("contentBlockDelta", contentBlockIndex=index, delta=delta)


def _event(name: str, **members: Any) -> Event:
    return Event(_encode(members), name.encode())


def _report(answer: Answer) -> dict[str, Any]:
    """Usage and latency, as in a body and in the last event of a stream."""
    metrics = {"metrics": {"latencyMs": round(1000 * (answer.prefill_s + answer.decode_s))}}
    if not answer.usage:
        return metrics
    generated = len(answer.reply.pieces)
    usage: dict[str, Any] = {
        "inputTokens": answer.fresh_tokens if answer.details == "full" else answer.prompt_tokens,
        "outputTokens": generated,
        "totalTokens": answer.prompt_tokens + generated,
    }
    if answer.details == "null":
        usage["cacheReadInputTokens"] = None
    elif answer.details == "full":
        usage["cacheReadInputTokens"] = answer.cached_tokens
        if answer.written is not None:
            usage["cacheWriteInputTokens"] = answer.written_tokens
            split = [{"ttl": name, "inputTokens": tokens} for name, tokens in answer.written.items() if tokens]
            usage |= {"cacheDetails": split} if split else {}
    return {"usage": usage} | metrics
