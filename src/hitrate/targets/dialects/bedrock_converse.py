"""Amazon Bedrock's Converse wire:
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html and ..._ConverseStream.html

Requests are built here and replies read; `bedrock_prompt` reads requests back, `bedrock_usage` the token counts,
`aws_eventstream` decodes the stream, `bedrock_signing` signs requests where no Bedrock API key is used.

The message of a reply is the wire's own: `{"role": "assistant", "content": [blocks]}`, where a block names its kind by
its one member (`{"text": ...}`, `{"toolUse": ...}`, `{"reasoningContent": ...}`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote

from hitrate.core.model import Reading, Reply, StreamEvent
from hitrate.core.prompt import CanonicalPrompt
from hitrate.errors import UsageError
from hitrate.targets.dialects import bedrock_prompt
from hitrate.targets.dialects.aws_eventstream import FAULT
from hitrate.targets.dialects.bedrock_blocks import BlockBuilder
from hitrate.targets.dialects.bedrock_usage import read_usage
from hitrate.targets.dialects.chat_shape import (
    calls_of,
    described,
    function_of,
    image_of,
    leading_system,
    parts_of,
    schema_of,
    text_of_content,
    with_extra,
)
from hitrate.targets.dialects.interface import Dialect, Framing, Markers
from hitrate.targets.dialects.reading import Progress, take_body, take_events
from hitrate.targets.dialects.wire_json import (
    any_holds,
    arguments_object,
    object_of,
    objects_of,
    text_of,
    text_or_none,
    to_json,
    tool_call,
)


class BedrockConverse(Dialect):
    """Implements `Dialect`. The base URL is https://bedrock-runtime.<region>.amazonaws.com."""

    name = "bedrock-converse"
    path = "/model"
    framing: ClassVar[Framing] = "aws-eventstream"

    def request_path(self, model: str, stream: bool) -> str:
        """The model is an id, or the ARN of an inference profile."""
        return f"{self.path}/{quote(model, safe='')}/{'converse-stream' if stream else 'converse'}"

    def build(
        self,
        *,
        model: str,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] = (),
        stream: bool = True,
        max_tokens: int | None = None,
        temperature: float | None = None,
        extra: Mapping[str, Any] | None = None,
        markers: Markers | None = "auto",
    ) -> bytes:
        """Model and `stream` are in the path, not in the body.

        `markers` go behind the last tool, the system prompt and the last user message; where messages or tools bring
        cache points of their own, none are added. `inferenceConfig` in `extra` adds to the limits.
        """
        opening, rest = leading_system(messages)
        system = [block for message in opening for block in _blocks(message)]
        turns = _turns(rest)
        definitions = [_tool(tool) for tool in tools]
        if markers is not None and not any_holds((*definitions, *system, *turns), "cachePoint"):
            asked: list[dict[str, Any]] = next(
                (turn["content"] for turn in reversed(turns) if turn["role"] == "user"), []
            )
            for marked in (definitions, system, asked):
                if marked:
                    marked.append({"cachePoint": _cache_point(markers)})
        body: dict[str, Any] = {}
        if definitions:
            body["toolConfig"] = {"tools": definitions}
        if system:
            body["system"] = system
        body["messages"] = turns
        config = {"maxTokens": max_tokens, "temperature": temperature}
        if settings := {name: value for name, value in config.items() if value is not None}:
            body["inferenceConfig"] = settings
        return to_json(with_extra(body, extra, merged=("inferenceConfig", "toolConfig")))

    def canonical(self, body: bytes) -> CanonicalPrompt:
        return bedrock_prompt.canonical(body)

    def read_body(self, body: bytes) -> Reading:
        reader = _Reader()
        if take_body(body, reader.progress, reader.take_reply) and not reader.started:
            reader.progress.fail("the reply holds no message")
        return reader.reading()

    def read_stream(self, events: Sequence[StreamEvent]) -> Reading:
        reader = _Reader()
        take_events(events, reader.progress, reader.take_event)
        return reader.reading()


def _cache_point(markers: Markers) -> dict[str, str]:
    return {"type": "default"} if markers == "auto" else {"type": "default", "ttl": markers}


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    function = function_of(tool)
    if function is None:
        return dict(tool)
    spec = described(function) | {"inputSchema": {"json": schema_of(function)}}
    return {"toolSpec": spec | ({"strict": function["strict"]} if "strict" in function else {})}


def _turns(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Neighbouring messages of one role become one turn: the API refuses two in a row, tool results included."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message.get("role") == "assistant" else "user"
        blocks = _blocks(message)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"].extend(blocks)
        elif blocks:
            turns.append({"role": role, "content": blocks})
    return turns


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if message.get("role") == "tool":
        told = [{"text": text_of_content(content)}]
        return [{"toolResult": {"toolUseId": message.get("tool_call_id"), "content": told}}]
    return [_block(part) for part in parts_of(content)] + [
        {"toolUse": {"toolUseId": call_id, "name": name, "input": arguments_object(arguments)}}
        for call_id, name, arguments in calls_of(message)
    ]


def _block(part: Mapping[str, Any]) -> dict[str, Any]:
    """A part of chat completions has a type; a block of this wire has none and stays as it is."""
    if part.get("type") == "text":
        return {"text": part.get("text")}
    image = image_of(part)
    if image is None:
        return dict(part)
    media_type, data, url = image
    if data is None:
        raise UsageError(f"Bedrock takes images inline, not by address: {url[:80]}")
    return {"image": {"format": media_type.rpartition("/")[2], "source": {"bytes": data}}}


class _Reader:
    """Takes the events of a stream, or the one object of a plain reply."""

    def __init__(self) -> None:
        self.progress = Progress()
        self.started = False
        self._usage: dict[str, Any] = {}
        self._timings: dict[str, Any] | None = None
        self._blocks: dict[int, BlockBuilder] = {}
        self._stop_reason: str | None = None

    def take_reply(self, reply: dict[str, Any]) -> None:
        self._report(reply)
        self._stop_reason = text_or_none(reply.get("stopReason"))
        message = object_of(reply.get("output")).get("message")
        if isinstance(message, dict):
            self.started = True
            self._blocks = {
                index: BlockBuilder(block) for index, block in enumerate(objects_of(message.get("content")))
            }

    def take_event(self, event: dict[str, Any], index: int) -> None:
        for kind, value in event.items():
            told = object_of(value)
            if kind == "messageStart":
                self.started = True
            elif kind == "contentBlockStart":
                self.started = True
                self._blocks[self._place(told)] = BlockBuilder(object_of(told.get("start")))
            elif kind == "contentBlockDelta":
                self.started = True
                block = self._blocks.setdefault(self._place(told), BlockBuilder({}))
                if block.add(object_of(told.get("delta"))):
                    self.progress.token(index, visible=block.visible)
            elif kind == "messageStop":
                self._stop_reason = text_or_none(told.get("stopReason"))
            elif kind == "metadata":
                self._report(told)
            elif kind == FAULT:
                self.progress.fail(text_of(told.get("message")))
            elif kind.endswith("Exception"):
                reason = text_of(told.get("message") or told.get("originalMessage")) or "no reason given"
                self.progress.fail(f"event {index + 1}: the server gave up after status 200: {reason} ({kind})")

    def _report(self, told: dict[str, Any]) -> None:
        self._usage = object_of(told.get("usage")) or self._usage
        self._timings = object_of(told.get("metrics")) or self._timings

    def _place(self, told: dict[str, Any]) -> int:
        place = told.get("contentBlockIndex")
        return place if type(place) is int else max(self._blocks, default=0)

    def reading(self) -> Reading:
        usage, fault = read_usage(self._usage)
        if fault is not None:
            self.progress.faults.append(fault)
        reply = self._reply() if self.started else None
        complete = self._stop_reason is not None
        return self.progress.reading(reply, usage, self._usage or None, complete=complete)

    def _reply(self) -> Reply:
        builders = [self._blocks[index] for index in sorted(self._blocks)]
        blocks = [block for builder in builders if (block := builder.block())]
        calls = [
            tool_call(text_of(use.get("toolUseId")), text_of(use.get("name")), builder.arguments())
            for builder in builders
            if isinstance(use := builder.block().get("toolUse"), dict)
        ]
        return Reply(
            message={"role": "assistant", "content": blocks},
            text="".join(builder.text() for builder in builders),
            reasoning="".join(builder.reasoning() for builder in builders),
            tool_calls=tuple(calls),
            finish_reason=self._stop_reason,
            server_timings=self._timings,
        )
