"""The Gemini generateContent wire: https://ai.google.dev/api/generate-content, on the Gemini API and on Vertex AI.

Requests are built here and replies read; `gemini_prompt` reads requests back, `gemini_usage` the token counts.

The message of a reply is the wire's own: `{"role": "model", "parts": [...]}` with thoughts and thought signatures in
the parts they came in, since the API checks them when they are sent back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from hitrate.core.model import Reading, Reply, StreamEvent
from hitrate.core.prompt import CanonicalPrompt
from hitrate.targets.dialects import gemini_prompt
from hitrate.targets.dialects.chat_shape import (
    calls_of,
    function_of,
    image_of,
    leading_system,
    parts_of,
    text_of_content,
    with_extra,
)
from hitrate.targets.dialects.gemini_usage import read_usage
from hitrate.targets.dialects.interface import Dialect, Markers
from hitrate.targets.dialects.openai_deltas import join_surrogates
from hitrate.targets.dialects.reading import Progress, take_body, take_events
from hitrate.targets.dialects.wire_json import (
    arguments_object,
    object_of,
    objects_of,
    text_of,
    text_or_none,
    to_json,
    tool_call,
)

_JOINABLE = frozenset({"text", "thought"})
"""A text part with anything else, a thought signature above all, has to stay a part of its own."""


class GeminiGenerate(Dialect):
    """Implements `Dialect`. The base URL ends in /v1beta, on Vertex AI in /publishers/google.

    Caching is automatic, or by `cachedContent` in `extra`: `markers` does nothing.
    """

    name = "gemini-generate"
    path = "/models"

    def request_path(self, model: str, stream: bool) -> str:
        """The model may come as "gemini-x" or, as the list of models spells it, as "models/gemini-x"."""
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        resource = f"/{model}" if "/" in model else f"{self.path}/{model}"
        return f"{quote(resource)}:{method}"

    def auth_headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

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
        """Model and `stream` are in the path, not in the body. `generationConfig` in `extra` adds to the limits."""
        opening, rest = leading_system(messages)
        body: dict[str, Any] = {}
        declarations = [function for tool in tools if (function := function_of(tool)) is not None]
        own = [dict(tool) for tool in tools if function_of(tool) is None]
        if tools:
            functions = [{"functionDeclarations": [_declaration(one) for one in declarations]}] if declarations else []
            body["tools"] = functions + own
        system = [part for message in opening for part in _parts(message.get("content"))]
        if system:
            body["systemInstruction"] = {"parts": system}
        body["contents"] = _contents(rest)
        config = {"maxOutputTokens": max_tokens, "temperature": temperature}
        if settings := {name: value for name, value in config.items() if value is not None}:
            body["generationConfig"] = settings
        return to_json(with_extra(body, extra, merged=("generationConfig",)))

    def canonical(self, body: bytes) -> CanonicalPrompt:
        return gemini_prompt.canonical(body)

    def read_body(self, body: bytes) -> Reading:
        reader = _Reader()
        if take_body(body, reader.progress, reader.take) and not reader.answered:
            reader.progress.fail(f"the reply holds no message{reader.blocked}")
        return reader.reading()

    def read_stream(self, events: Sequence[StreamEvent]) -> Reading:
        reader = _Reader()
        take_events(events, reader.progress, reader.take)
        if events and not reader.answered and reader.blocked:
            reader.progress.fail(f"the reply holds no message{reader.blocked}")
        return reader.reading()


def _declaration(function: Mapping[str, Any]) -> dict[str, Any]:
    """`parametersJsonSchema` takes JSON Schema as it is; `parameters` would want a subset of it."""
    names = {"parameters": "parametersJsonSchema"}
    return {names.get(name, name): value for name, value in function.items() if name != "strict"}


def _contents(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Results of parallel calls go into one content: the API wants as many as there were calls, in one turn."""
    contents: list[dict[str, Any]] = []
    names: dict[str, tuple[str, bool]] = {}
    after_tool = False
    for message in messages:
        role = message.get("role")
        if isinstance(message.get("parts"), list):
            contents.append(dict(message))
            names |= {call_id: (name, given) for call_id, name, given, _ in _calls(objects_of(message["parts"]))}
        elif role == "tool":
            if not after_tool:
                contents.append({"role": "user", "parts": []})
            contents[-1]["parts"].append(_result(message, names))
        else:
            parts = _parts(message.get("content"))
            for call_id, name, arguments in calls_of(message):
                names[call_id] = (name, True)
                parts.append({"functionCall": {"id": call_id, "name": name, "args": arguments_object(arguments)}})
            if parts:
                contents.append({"role": "model" if role == "assistant" else "user", "parts": parts})
        after_tool = role == "tool"
    return contents


def _result(message: Mapping[str, Any], names: Mapping[str, tuple[str, bool]]) -> dict[str, Any]:
    """A tool's answer as text under "output", where the API looks for it; an id only if the model gave one."""
    call_id = str(message.get("tool_call_id", ""))
    name, given = names.get(call_id, (str(message.get("name", call_id)), False))
    response = {"name": name, "response": {"output": text_of_content(message.get("content"))}}
    return {"functionResponse": {"id": call_id, **response} if given else response}


def _calls(parts: list[dict[str, Any]]) -> list[tuple[str, str, bool, Any]]:
    """(id, name, whether the id is the model's own, arguments) of each call. Most models give no ids: then its number
    in the message and its name make one."""
    calls = []
    for number, call in enumerate(object_of(part["functionCall"]) for part in parts if "functionCall" in part):
        name = text_of(call.get("name"))
        own = text_of(call.get("id"))
        calls.append((own or f"{number}-{name}", name, own != "", call.get("args") or {}))
    return calls


def _parts(content: Any) -> list[dict[str, Any]]:
    return [_part(part) for part in parts_of(content)]


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part.get("type") == "text":
        return {"text": part.get("text")}
    image = image_of(part)
    if image is None:
        return dict(part)
    media_type, data, url = image
    if data is None:
        return {"fileData": {"fileUri": url}}
    return {"inlineData": {"mimeType": media_type, "data": data}}


class _Reader:
    """Takes the chunks of a stream, or the one object of a plain reply."""

    def __init__(self) -> None:
        self.progress = Progress()
        self.answered = False
        self.blocked = ""
        self._parts: list[dict[str, Any]] = []
        self._reports: dict[str, Any] = {}
        self._finish_reason: str | None = None
        self._model: str | None = None
        self._id: str | None = None

    def take(self, chunk: dict[str, Any], index: int | None = None) -> None:
        for name in ("usageMetadata", "usage"):
            if isinstance(chunk.get(name), dict):
                known = object_of(self._reports.get(name))
                told = {key: value for key, value in chunk[name].items() if value is not None or key not in known}
                self._reports[name] = {**known, **told}
        self._model = text_or_none(chunk.get("modelVersion")) or self._model
        self._id = text_or_none(chunk.get("responseId")) or self._id
        reason = text_or_none(object_of(chunk.get("promptFeedback")).get("blockReason"))
        if reason is not None:
            self.blocked = f": the prompt was blocked ({reason})"
        candidates = objects_of(chunk.get("candidates"))
        candidate = next((one for one in candidates if not one.get("index")), None)
        if candidate is None:
            return
        self._finish_reason = text_or_none(candidate.get("finishReason")) or self._finish_reason
        content = object_of(candidate.get("content"))
        self.answered = self.answered or "content" in candidate
        for part in objects_of(content.get("parts")):
            self._add(part, index)

    def _add(self, part: dict[str, Any], index: int | None) -> None:
        text = part.get("text")
        if not isinstance(text, str):
            self.progress.token(index, visible=False)
        elif text:
            self.progress.token(index, visible=not part.get("thought"))
        last = self._parts[-1] if self._parts else None
        if _joinable(part) and last is not None and _joinable(last) and last.get("thought") == part.get("thought"):
            last["text"] += part["text"]
        else:
            self._parts.append(dict(part))

    def reading(self) -> Reading:
        usage, fault = read_usage(self._reports)
        if fault is not None:
            self.progress.faults.append(fault)
        raw_usage = self._reports.get("usageMetadata") or self._reports.get("usage")
        reply = self._reply() if self.answered else None
        return self.progress.reading(reply, usage, raw_usage, complete=self._finish_reason is not None)

    def _reply(self) -> Reply:
        parts = [
            {**part, "text": join_surrogates(part["text"])} if isinstance(part.get("text"), str) else part
            for part in self._parts
        ]
        thoughts = [text_of(part.get("text")) for part in parts if part.get("thought")]
        texts = [text_of(part.get("text")) for part in parts if not part.get("thought")]
        return Reply(
            message={"role": "model", "parts": parts},
            text="".join(texts),
            reasoning="".join(thoughts),
            tool_calls=tuple(tool_call(call_id, name, arguments) for call_id, name, _, arguments in _calls(parts)),
            finish_reason=self._finish_reason,
            model=self._model,
            response_id=self._id,
        )


def _joinable(part: dict[str, Any]) -> bool:
    return isinstance(part.get("text"), str) and _JOINABLE.issuperset(part)
