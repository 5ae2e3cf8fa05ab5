"""The OpenAI Responses wire: https://platform.openai.com/docs/api-reference/responses, and engines that speak it too.

Requests are built here and replies read; `openai_responses_prompt` reads requests back, `openai_responses_items` puts
streamed items together, `openai_responses_usage` reads the token counts.

The message of a reply is `{"role": "assistant", "output": [items]}` with the items as they came: reasoning, text, tool
calls. Each goes back into `input` as an item of its own, ids and encrypted reasoning included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hitrate.core.model import Reading, Reply, StreamEvent
from hitrate.core.prompt import CanonicalPrompt
from hitrate.targets.dialects import openai_responses_prompt
from hitrate.targets.dialects.chat_shape import (
    calls_of,
    function_of,
    leading_system,
    parts_of,
    text_of_content,
    with_extra,
)
from hitrate.targets.dialects.interface import Dialect, Markers
from hitrate.targets.dialects.openai_responses_items import OutputItems, reasoning_text, visible_text
from hitrate.targets.dialects.openai_responses_usage import read_usage
from hitrate.targets.dialects.reading import Progress, take_body, take_events
from hitrate.targets.dialects.wire_json import (
    compact_text,
    error_text,
    object_of,
    objects_of,
    text_of,
    text_or_none,
    to_json,
    tool_call,
)

_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")

_SPOKEN = ("response.output_text.delta", "response.refusal.delta")


class OpenAIResponses(Dialect):
    """Implements `Dialect`. Caching is automatic on this wire: `markers` does nothing."""

    name = "openai-responses"
    path = "/responses"

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
        """The first system message goes out as `instructions`, all others as items at their place.

        With `store: false` in `extra`, reasoning that was not asked for in encrypted form is left out of the input,
        since the server cannot look it up and refuses it.
        """
        opening, rest = leading_system(messages)
        kept = (extra or {}).get("store") is not False
        body: dict[str, Any] = {"model": model}
        if tools:
            body["tools"] = [_tool(tool) for tool in tools]
        if opening:
            body["instructions"] = text_of_content(opening[0].get("content"))
        following = (*opening[1:], *rest)
        body["input"] = [item for message in following for item in _items(message) if kept or _stands_alone(item)]
        body["stream"] = stream
        if max_tokens is not None:
            body["max_output_tokens"] = max_tokens
        if temperature is not None:
            body["temperature"] = temperature
        return to_json(with_extra(body, extra))

    def canonical(self, body: bytes) -> CanonicalPrompt:
        return openai_responses_prompt.canonical(body)

    def read_body(self, body: bytes) -> Reading:
        reader = _Reader()
        if take_body(body, reader.progress, reader.take_response) and not reader.items:
            reader.progress.fail("the reply holds no message")
        return reader.reading()

    def read_stream(self, events: Sequence[StreamEvent]) -> Reading:
        reader = _Reader()
        take_events(events, reader.progress, reader.take_event)
        return reader.reading()


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """The function's members stand in the tool itself on this wire."""
    function = function_of(tool)
    return dict(tool) if function is None else {"type": "function", **function}


def _items(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    role = message.get("role")
    output = message.get("output")
    if role == "assistant" and isinstance(output, list):
        return [dict(item) for item in output]
    content = message.get("content")
    if role == "tool":
        return [
            {
                "type": "function_call_output",
                "call_id": message.get("tool_call_id"),
                "output": content if isinstance(content, str) else text_of_content(content),
            }
        ]
    items: list[dict[str, Any]] = []
    if content:
        told = content if isinstance(content, str) else [_part(part, role == "assistant") for part in parts_of(content)]
        items.append({"role": role, "content": told})
    for call_id, name, arguments in calls_of(message):
        call = {"type": "function_call", "call_id": call_id, "name": name, "arguments": compact_text(arguments)}
        items.append(call)
    return items


def _part(part: Mapping[str, Any], spoken: bool) -> dict[str, Any]:
    if part.get("type") == "text":
        return {**part, "type": "output_text" if spoken else "input_text"}
    if part.get("type") == "image_url":
        image = part.get("image_url")
        members = {"image_url": image.get("url")} if isinstance(image, Mapping) else {"image_url": image}
        if isinstance(image, Mapping) and "detail" in image:
            members["detail"] = image["detail"]
        return {"type": "input_image", **members}
    return dict(part)


def _stands_alone(item: Mapping[str, Any]) -> bool:
    return item.get("type") != "reasoning" or bool(item.get("encrypted_content"))


class _Reader:
    """Takes the events of a stream, or the one response of a plain reply."""

    def __init__(self) -> None:
        self.progress = Progress()
        self.items = OutputItems()
        self._response: dict[str, Any] = {}
        self._usage: Any = None
        self._ended = False

    def take_event(self, event: dict[str, Any], index: int) -> None:
        kind = text_of(event.get("type"))
        if isinstance(event.get("response"), dict):
            response = event["response"]
            if kind in _ENDS:
                self._ended = True
                self.take_response(response)
                self._note_failure(kind, response, index)
            else:
                self._note(response)
        elif kind == "response.output_item.added":
            self.items.open(event)
        elif kind == "response.output_item.done":
            self.items.close(event)
        elif kind.endswith(".delta") and self.items.add(event):
            self.progress.token(index, visible=kind in _SPOKEN)

    def _note_failure(self, kind: str, response: dict[str, Any], index: int) -> None:
        if kind == "response.failed":
            reason = error_text(response) or "no reason given"
            self.progress.fail(f"event {index + 1}: the server gave up after status 200: {reason}")

    def take_response(self, response: dict[str, Any]) -> None:
        self._note(response)
        self.items.replace(objects_of(response.get("output")))
        self._ended = self._ended or response.get("status") in ("completed", "incomplete", None)

    def _note(self, response: dict[str, Any]) -> None:
        self._response = {**self._response, **{name: one for name, one in response.items() if one is not None}}
        if response.get("usage") is not None:
            self._usage = response["usage"]

    def reading(self) -> Reading:
        usage, fault = read_usage(self._usage)
        if fault is not None:
            self.progress.faults.append(fault)
        raw_usage = self._usage if isinstance(self._usage, dict) else None
        return self.progress.reading(self._reply(), usage, raw_usage, complete=self._ended)

    def _reply(self) -> Reply | None:
        output = self.items.output()
        if not output:
            return None
        calls = [
            tool_call(text_of(item.get("call_id")), text_of(item.get("name")), item.get("arguments", ""))
            for item in output
            if item.get("type") == "function_call"
        ]
        return Reply(
            message={"role": "assistant", "output": output},
            text="".join(visible_text(item) for item in output),
            reasoning="".join(reasoning_text(item) for item in output),
            tool_calls=tuple(calls),
            finish_reason=self._finish_reason(),
            model=text_or_none(self._response.get("model")),
            response_id=text_or_none(self._response.get("id")),
        )

    def _finish_reason(self) -> str | None:
        """The status, or why a reply is incomplete ("max_output_tokens")."""
        if not self._ended:
            return None
        reason = object_of(self._response.get("incomplete_details")).get("reason")
        return text_or_none(reason) or text_or_none(self._response.get("status"))
