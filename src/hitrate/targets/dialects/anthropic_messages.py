"""The Anthropic Messages wire: https://platform.claude.com/docs/en/api/messages, and engines that speak it too.

Requests are built here and replies read; `anthropic_prompt` reads requests back, `anthropic_usage` the token counts.

The message of a reply is the wire's own: `{"role": "assistant", "content": [blocks]}` with thinking, signatures and
redacted thinking as they came, since the API checks them when they are sent back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hitrate.core.model import Reading, Reply, StreamEvent
from hitrate.core.prompt import CanonicalPrompt
from hitrate.targets.dialects import anthropic_prompt
from hitrate.targets.dialects.anthropic_blocks import BlockBuilder
from hitrate.targets.dialects.anthropic_usage import merge_usage, read_usage
from hitrate.targets.dialects.chat_shape import (
    SYSTEM_ROLES,
    calls_of,
    described,
    function_of,
    image_of,
    leading_system,
    parts_of,
    schema_of,
    with_extra,
)
from hitrate.targets.dialects.interface import Dialect, Markers
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

API_VERSION = "2023-06-01"

DEFAULT_MAX_TOKENS = 4096
"""The wire has no request without a limit."""


class AnthropicMessages(Dialect):
    """Implements `Dialect`. The base URL ends in /v1."""

    name = "anthropic-messages"
    path = "/messages"

    def auth_headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key, "anthropic-version": API_VERSION}

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
        """`markers` go on the last tool, the system prompt and the last user message: three of the four allowed.

        Where messages or tools bring markers of their own, none are added.
        """
        opening, rest = leading_system(messages)
        system = [block for message in opening for block in _blocks(message)]
        turns = _turns(rest)
        definitions = [_tool(tool) for tool in tools]
        if markers is not None and not any_holds((*definitions, *system, *turns), "cache_control"):
            asked: list[dict[str, Any]] = next(
                (turn["content"] for turn in reversed(turns) if turn["role"] == "user"), []
            )
            for marked in (definitions, system, asked):
                if marked:
                    marked[-1] = {"cache_control": _marker(markers), **marked[-1]}
        body: dict[str, Any] = {"model": model}
        if definitions:
            body["tools"] = definitions
        if system:
            body["system"] = system
        body["messages"] = turns
        body["stream"] = stream
        body["max_tokens"] = DEFAULT_MAX_TOKENS if max_tokens is None else max_tokens
        if temperature is not None:
            body["temperature"] = temperature
        return to_json(with_extra(body, extra))

    def canonical(self, body: bytes) -> CanonicalPrompt:
        return anthropic_prompt.canonical(body)

    def read_body(self, body: bytes) -> Reading:
        reader = _Reader()
        if take_body(body, reader.progress, reader.take_message) and not reader.started:
            reader.progress.fail("the reply holds no message")
        return reader.reading()

    def read_stream(self, events: Sequence[StreamEvent]) -> Reading:
        reader = _Reader()
        take_events(events, reader.progress, reader.take_event)
        return reader.reading()


def _marker(markers: Markers) -> dict[str, str]:
    return {"type": "ephemeral"} if markers == "auto" else {"type": "ephemeral", "ttl": markers}


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    function = function_of(tool)
    if function is None:
        return dict(tool)
    definition = described(function) | {"input_schema": schema_of(function)}
    return definition | ({"strict": function["strict"]} if "strict" in function else {})


def _turns(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Results of parallel tool calls go into one user message: the API wants all of them right behind the calls."""
    turns: list[dict[str, Any]] = []
    after_tool = False
    for message in messages:
        role = message.get("role")
        content = message.get("content")
        if role == "assistant" and content and isinstance(content, list) and "tool_calls" not in message:
            turns.append(dict(message))
        elif role == "tool" and after_tool:
            turns[-1]["content"].extend(_blocks(message))
        elif blocks := _blocks(message):
            names = {"tool": "user", "developer": "system"}
            turns.append({"role": names.get(str(role), role), "content": blocks})
        after_tool = role == "tool"
    return turns


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    blocks = [_block(part) for part in parts_of(content)]
    if message.get("role") == "tool":
        told: Any = content if isinstance(content, str) else blocks
        return [{"type": "tool_result", "tool_use_id": message.get("tool_call_id"), "content": told}]
    if message.get("role") in SYSTEM_ROLES:
        return blocks
    return blocks + [
        {"type": "tool_use", "id": call_id, "name": name, "input": arguments_object(arguments)}
        for call_id, name, arguments in calls_of(message)
    ]


def _block(part: Mapping[str, Any]) -> dict[str, Any]:
    image = image_of(part)
    if image is None:
        return dict(part)
    media_type, data, url = image
    source = {"type": "url", "url": url} if data is None else {"type": "base64", "media_type": media_type, "data": data}
    return {"type": "image", "source": source}


class _Reader:
    """Takes the events of a stream, or the one message of a plain reply."""

    def __init__(self) -> None:
        self.progress = Progress()
        self.started = False
        self._usage: dict[str, Any] = {}
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, BlockBuilder] = {}
        self._stop_reason: str | None = None
        self._stopped = False

    def take_message(self, message: dict[str, Any]) -> None:
        if not isinstance(message.get("content"), list):
            self._usage = merge_usage(self._usage, message.get("usage"))
            return
        self._start(message)
        for index, block in enumerate(objects_of(message["content"])):
            self._blocks[index] = BlockBuilder(block)
        self._stop_reason = text_or_none(message.get("stop_reason"))
        self._stopped = True

    def take_event(self, event: dict[str, Any], index: int) -> None:
        kind = event.get("type")
        if kind == "message_start":
            self._start(object_of(event.get("message")))
        elif kind == "message_delta":
            self._usage = merge_usage(self._usage, event.get("usage"))
            self._stop_reason = text_or_none(object_of(event.get("delta")).get("stop_reason")) or self._stop_reason
        elif kind == "message_stop":
            self._stopped = True
        elif kind == "content_block_start":
            self.started = True
            block = BlockBuilder(object_of(event.get("content_block")))
            self._blocks[self._place(event)] = block
            if block.holds_text:  # some servers put the first piece of text into the opening of its block
                self.progress.token(index, visible=block.visible)
        elif kind == "content_block_delta":
            self.started = True
            block = self._blocks.setdefault(self._place(event), BlockBuilder({}))
            if block.add(object_of(event.get("delta"))):
                self.progress.token(index, visible=block.visible)

    def _start(self, message: dict[str, Any]) -> None:
        self.started = True
        self._message = message
        self._usage = merge_usage(self._usage, message.get("usage"))

    def _place(self, event: dict[str, Any]) -> int:
        place = event.get("index")
        return place if type(place) is int else max(self._blocks, default=0)

    def reading(self) -> Reading:
        usage, fault = read_usage(self._usage)
        if fault is not None:
            self.progress.faults.append(fault)
        reply = self._reply() if self.started else None
        complete = self._stopped or self._stop_reason is not None
        return self.progress.reading(reply, usage, self._usage or None, complete=complete)

    def _reply(self) -> Reply:
        builders = [self._blocks[index] for index in sorted(self._blocks)]
        blocks = [builder.block() for builder in builders]
        texts = [text_of(block.get("text")) for block in blocks if block.get("type") == "text"]
        thoughts = [text_of(block.get("thinking")) for block in blocks if block.get("type") == "thinking"]
        calls = [
            tool_call(text_of(block.get("id")), text_of(block.get("name")), builder.arguments())
            for builder, block in zip(builders, blocks, strict=True)
            if block.get("type") == "tool_use"
        ]
        return Reply(
            message={"role": "assistant", "content": blocks},
            text="".join(texts),
            reasoning="".join(thoughts),
            tool_calls=tuple(calls),
            finish_reason=self._stop_reason,
            model=text_or_none(self._message.get("model")),
            response_id=text_or_none(self._message.get("id")),
        )
