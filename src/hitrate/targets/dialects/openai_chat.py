"""The OpenAI chat-completions wire, as OpenAI defines it and as other vendors and engines bend it.

https://platform.openai.com/docs/api-reference/chat. Requests are built here; `openai_prompt` reads them back as
canonical prompts, `openai_usage` reads token counts, `openai_deltas` puts streamed messages together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from hitrate.core.model import Reading, Reply, StreamEvent, Usage
from hitrate.core.prompt import CanonicalPrompt
from hitrate.targets.dialects import openai_prompt
from hitrate.targets.dialects.chunk_pattern import ChunkPattern
from hitrate.targets.dialects.generated_ids import GeneratedIds
from hitrate.targets.dialects.interface import Dialect, Markers
from hitrate.targets.dialects.openai_chunks import Choice, Chunk, first_choice, parse_chunk
from hitrate.targets.dialects.openai_deltas import MessageBuilder, carries_token, reasoning_text, visible_text
from hitrate.targets.dialects.openai_usage import read_usage
from hitrate.targets.dialects.wire_json import to_json

_SERVER_BLOCKS = ("timings", "x_groq", "time_info", "perf_metrics", "metrics")
"""Timing members beside `usage`: llama.cpp, Groq, Cerebras, Fireworks, vLLM."""


class OpenAIChat(Dialect):
    """A member that is None in `extra` is left out, also one that would be sent by default."""

    name = "openai-chat"
    path = "/chat/completions"

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
        body: dict[str, Any] = {"model": model}
        if tools:
            body["tools"] = list(tools)
        body["messages"] = list(messages)
        body["stream"] = stream
        if stream:
            body["stream_options"] = {"include_usage": True}
        if max_tokens is not None:
            body["max_tokens"] = max_tokens
        if temperature is not None:
            body["temperature"] = temperature
        for name, value in (extra or {}).items():
            body.pop(name, None)
            if value is not None:
                body[name] = value
        return to_json(body)

    def canonical(self, body: bytes) -> CanonicalPrompt:
        return openai_prompt.canonical(body)

    def read_body(self, body: bytes) -> Reading:
        try:
            answer = parse_chunk(body)
        except ValueError as fault:
            return Reading(reply=None, usage=Usage(), complete=False, fault=f"the reply is {fault}")
        if answer.error:
            return Reading(
                reply=None, usage=Usage(), complete=False, fault=f"the server answered with an error: {answer.error}"
            )
        reader = _Reader()
        try:
            reader.take(answer, None)
        except RecursionError:
            reader.fault("the reply is nested too deeply to be read")
        reading = reader.reading(ended=True)
        if reading.reply is None:
            return msgspec.structs.replace(reading, complete=False, fault=reading.fault or "the reply holds no message")
        return reading

    def read_stream(self, events: Sequence[StreamEvent]) -> Reading:
        reader = _Reader()
        pattern = ChunkPattern()
        ended = False
        position = 0
        while position < len(events):
            data = events[position].data.strip()
            if data == b"[DONE]":
                ended = True
            elif data:
                pattern.learn(data, reader.take_event(data, position))
                texts = pattern.texts(events, position + 1)
                if texts:
                    reader.take_texts(texts, position + 1)
                    position += len(texts)
            position += 1
        return reader.reading(ended=ended)


class _Reader:
    """Takes the objects of a stream, or the one of a plain reply, in order."""

    def __init__(self) -> None:
        self.failed = False
        self._faults: list[str] = []
        self._builder = MessageBuilder()
        self._whole: dict[str, Any] | None = None
        self._reports: dict[str, Any] = {}
        self._token_events: list[int] = []
        self._generated = GeneratedIds()
        self._slot: int | None = None
        self._first_content: int | None = None
        self._finish_reason: str | None = None
        self._model: str | None = None
        self._id: str | None = None

    def fault(self, text: str) -> None:
        self._faults.append(text)

    def take_event(self, data: bytes, index: int) -> Chunk:
        """The chunk in an event's data, taken; an empty one if there was none."""
        try:
            chunk = parse_chunk(data)
        except ValueError as fault:
            self.fault(f"event {index + 1} is {fault}")
            return Chunk()
        if chunk.error:
            self.failed = True
            self.fault(f"event {index + 1}: the server sent an error after status 200: {chunk.error}")
        try:
            self.take(chunk, index)
        except RecursionError:
            self.fault(f"event {index + 1} is nested too deeply to be read")
        return chunk

    def take_texts(self, texts: list[str], index: int) -> None:
        """Take chunks, the first at `index`, that differ from the last one taken in their text alone."""
        self._builder.add_texts(texts)
        places = range(index, index + len(texts))
        with_text = places if all(texts) else [place for place, text in zip(places, texts, strict=True) if text]
        self._token_events += with_text
        if with_text and self._first_content is None:
            self._first_content = with_text[0]

    def take(self, chunk: Chunk, index: int | None) -> None:
        """`index` is the event's, None for a plain reply."""
        self._model = chunk.model or self._model
        self._id = chunk.id or self._id
        if chunk.usage is not None:
            self._reports["usage"] = chunk.usage
        if chunk.timings or chunk.x_groq or chunk.time_info or chunk.perf_metrics or chunk.metrics:
            self._note_server_blocks(chunk)
        choice = first_choice(chunk)
        if chunk.verbose or chunk.tokens or (choice is not None and (choice.token_ids or choice.logprobs)):
            self._note_ids(chunk, choice)
        if choice is None:
            return
        if choice.usage is not None:
            self._reports.setdefault("usage", choice.usage)  # Moonshot's streams report inside the last choice
        self._finish_reason = choice.finish_reason or self._finish_reason
        piece = choice.delta
        if piece is not None:
            self._builder.add(piece)
        elif choice.message is not None:
            piece = self._whole = choice.message
        if index is None or not piece:
            return
        text = visible_text(piece.get("content"))
        if text or carries_token(piece):
            self._token_events.append(index)
            if text and self._first_content is None:
                self._first_content = index

    def _note_server_blocks(self, chunk: Chunk) -> None:
        for name in _SERVER_BLOCKS:
            block = getattr(chunk, name)
            if block:
                self._reports[name] = block

    def _note_ids(self, chunk: Chunk, choice: Choice | None) -> None:
        self._generated.take(
            {"tokens": chunk.tokens, "__verbose": chunk.verbose},
            None if choice is None else {"token_ids": choice.token_ids, "logprobs": choice.logprobs},
        )
        slot = (chunk.verbose or {}).get("id_slot")  # llama.cpp, when asked with `verbose` and `response_fields`
        if self._slot is None and type(slot) is int:
            self._slot = slot

    def reading(self, *, ended: bool) -> Reading:
        usage, usage_fault = read_usage(self._reports)
        if usage_fault is not None:
            self._faults.append(usage_fault)
        more = f" (and {len(self._faults) - 1} more)" if len(self._faults) > 1 else ""
        return Reading(
            reply=self._reply(usage.output_tokens),
            usage=usage,
            raw_usage=self._reports.get("usage"),
            first_token=self._token_events[0] if self._token_events else None,
            first_content=self._first_content,
            token_events=tuple(self._token_events),
            complete=self._finish_reason is not None or (ended and not self.failed),
            fault=self._faults[0] + more if self._faults else None,
        )

    def _reply(self, output_tokens: int | None) -> Reply | None:
        message = self._builder.message() or self._whole
        if message is None:
            return None
        calls = message.get("tool_calls")
        text = visible_text(message.get("content"))
        return Reply(
            message=message,
            text=text,
            reasoning=reasoning_text(message),
            tool_calls=tuple(call for call in calls if isinstance(call, dict)) if isinstance(calls, list) else (),
            finish_reason=self._finish_reason,
            model=self._model,
            response_id=self._id,
            token_ids=self._generated.all(output_tokens, self._finish_reason, text),
            slot=self._slot,
            server_timings=next((self._reports[name] for name in _SERVER_BLOCKS if name in self._reports), None),
        )
