"""The OpenAI chat-completions wire, as OpenAI defines it and as other vendors and engines bend it.

https://platform.openai.com/docs/api-reference/chat. Requests are built here; `openai_prompt` reads them back as
canonical prompts, `openai_usage` reads token counts, `openai_deltas` puts streamed messages together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from hitrate.core.model import Reading, Reply, StreamEvent, Usage
from hitrate.core.prompt import CanonicalPrompt
from hitrate.targets.dialects import openai_prompt
from hitrate.targets.dialects.chunk_pattern import ChunkPattern
from hitrate.targets.dialects.generated_ids import GeneratedIds
from hitrate.targets.dialects.interface import Dialect, Markers
from hitrate.targets.dialects.openai_deltas import (
    MessageBuilder,
    carries_token,
    first_choice,
    reasoning_text,
    visible_text,
)
from hitrate.targets.dialects.openai_usage import read_usage

_SERVER_BLOCKS = ("timings", "x_groq", "time_info", "perf_metrics", "metrics")
"""Timing members beside `usage`: llama.cpp, Groq, Cerebras, Fireworks, vLLM."""

_REPORTS = ("usage", *_SERVER_BLOCKS)

_decode = msgspec.json.Decoder().decode


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
        answer, fault = _parse(body)
        if answer is None:
            return Reading(reply=None, usage=Usage(), complete=False, fault=f"the reply is {fault}")
        error = error_text(answer)
        if error is not None:
            return Reading(
                reply=None, usage=Usage(), complete=False, fault=f"the server answered with an error: {error}"
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
            texts = pattern.texts(events, position)
            if texts:
                reader.take_texts(texts, position)
                position += len(texts)
                continue
            data = events[position].data.strip()
            if data == b"[DONE]":
                ended = True
            elif data:
                pattern.learn(data, reader.take_event(data, position))
            position += 1
        return reader.reading(ended=ended)


def to_json(value: Any) -> bytes:
    """Compact JSON bytes in the key order given. Lone surrogates, which UTF-8 cannot carry, go out as escapes."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode("ascii")


def error_text(answer: Mapping[str, Any]) -> str | None:
    """What went wrong, on one line, when a body or chunk is an error object; None when it is none."""
    error = answer.get("error")
    if not error and answer.get("object") == "error":
        error = answer
    if not error:
        return None
    text = error
    if isinstance(error, Mapping):
        text = error.get("message") or error.get("detail") or error.get("msg") or error
        code = error.get("code") or error.get("type")
        if code and isinstance(code, str | int) and str(code) not in str(text):
            text = f"{text} ({code})"
    return " ".join(str(text).split())[:300]


def _parse(data: bytes) -> tuple[dict[str, Any] | None, str | None]:
    """The JSON object in `data`, or None and why there is none."""
    try:
        value = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            value = json.loads(data)  # reads what msgspec refuses: halves of surrogate pairs, NaN
        except RecursionError:
            return None, "nested too deeply to be read"
        except ValueError as error:
            return None, f"malformed JSON ({error})"
    if not isinstance(value, dict):
        return None, f"not a JSON object ({type(value).__name__})"
    return value, None


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

    def take_event(self, data: bytes, index: int) -> dict[str, Any]:
        """The object in an event's data, taken; empty if there was none."""
        chunk, fault = _parse(data)
        if chunk is None:
            self.fault(f"event {index + 1} is {fault}")
            return {}
        error = error_text(chunk)
        if error is not None:
            self.failed = True
            self.fault(f"event {index + 1}: the server sent an error after status 200: {error}")
        try:
            self.take(chunk, index)
        except RecursionError:
            self.fault(f"event {index + 1} is nested too deeply to be read")
        return chunk

    def take_texts(self, texts: list[str], index: int) -> None:
        """Take chunks, the first at `index`, that differ from the last one taken in their text alone."""
        self._builder.add_texts(texts)
        with_text = [place for place, text in enumerate(texts, index) if text]
        self._token_events += with_text
        if with_text and self._first_content is None:
            self._first_content = with_text[0]

    def take(self, answer: dict[str, Any], index: int | None) -> None:
        """`index` is the event's, None for a plain reply."""
        for name in _REPORTS:
            if name in answer and (answer[name] is not None or name not in self._reports):
                self._reports[name] = answer[name]
        self._model = _text(answer.get("model")) or self._model
        self._id = _text(answer.get("id")) or self._id
        choice = first_choice(answer.get("choices"))
        self._generated.take(answer, choice)
        self._slot = _slot(answer) if self._slot is None else self._slot
        if choice is None:
            return
        if self._reports.get("usage") is None and choice.get("usage") is not None:
            self._reports["usage"] = choice["usage"]  # Moonshot's streams report inside the last choice
        self._finish_reason = _text(choice.get("finish_reason")) or self._finish_reason
        piece = choice.get("delta")
        if isinstance(piece, dict):
            self._builder.add(piece)
        elif isinstance(choice.get("message"), dict):
            piece = self._whole = choice["message"]
        if index is not None and isinstance(piece, dict) and carries_token(piece):
            self._token_events.append(index)
            if self._first_content is None and visible_text(piece.get("content")):
                self._first_content = index

    def reading(self, *, ended: bool) -> Reading:
        usage, usage_fault = read_usage(self._reports)
        if usage_fault is not None:
            self._faults.append(usage_fault)
        raw_usage = self._reports.get("usage")
        more = f" (and {len(self._faults) - 1} more)" if len(self._faults) > 1 else ""
        return Reading(
            reply=self._reply(usage.output_tokens),
            usage=usage,
            raw_usage=raw_usage if isinstance(raw_usage, dict) else None,
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
        blocks = (self._reports.get(name) for name in _SERVER_BLOCKS)
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
            server_timings=next((block for block in blocks if isinstance(block, dict)), None),
        )


def _slot(answer: Mapping[str, Any]) -> int | None:
    """llama.cpp names it in `__verbose` when asked with `verbose` and `response_fields`."""
    verbose = answer.get("__verbose")
    slot = verbose.get("id_slot") if isinstance(verbose, dict) else None
    return slot if type(slot) is int else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
