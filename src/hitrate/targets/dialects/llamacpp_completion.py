"""llama.cpp's own completion wire, `POST /completion`: a prompt as text or as token ids, no messages.

https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md. `tokens_cached` in a reply is how much the
slot holds afterwards, not what was served from it: that is `timings.cache_n`.

Also read, though never built, is `/v1/completions` of OpenAI, vLLM, SGLang and llama.cpp itself: the same request, and
a reply with `choices[].text` and the usage of chat completions
(https://platform.openai.com/docs/api-reference/completions).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hitrate.core import spans
from hitrate.core.model import Reading, Reply, StreamEvent, Usage
from hitrate.core.prompt import CanonicalPrompt
from hitrate.core.spans import Node
from hitrate.targets.dialects import openai_usage
from hitrate.targets.dialects.chat_shape import calls_of, text_of_content, with_extra
from hitrate.targets.dialects.counts import Counts
from hitrate.targets.dialects.interface import Dialect, Markers
from hitrate.targets.dialects.openai_deltas import join_surrogates
from hitrate.targets.dialects.prompt_builder import PromptBuilder, digest
from hitrate.targets.dialects.reading import Progress, take_body, take_events
from hitrate.targets.dialects.wire_json import arguments_object, object_of, objects_of, text_or_none, to_json

_PROMPTS = ("prompt", "prompt_token_ids")


class LlamaCppCompletion(Dialect):
    """Implements `Dialect`. The base URL is the server's root."""

    name = "llamacpp-completion"
    path = "/completion"

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
        """`prompt` in `extra` is the prompt, text or ids; without it the messages are written out in ChatML.

        For a model's own template, render with the server's `/apply-template` and give the result as `prompt`.
        """
        body: dict[str, Any] = {"model": model}
        if (extra or {}).get("prompt") is None:
            body["prompt"] = chatml(messages, tools)
        body["stream"] = stream
        body["cache_prompt"] = True
        if max_tokens is not None:
            body["n_predict"] = max_tokens
        if temperature is not None:
            body["temperature"] = temperature
        return to_json(with_extra(body, extra))

    def canonical(self, body: bytes) -> CanonicalPrompt:
        """One segment for the text, or for each run of token ids as "12 345 ". Raises ValueError, one line."""
        root = spans.parse(spans.decode_text(body))
        members = root.members()
        prompt = next((members[name] for name in _PROMPTS if name in members and members[name].value is not None), None)
        if prompt is None or not isinstance(prompt.value, str | list | dict):
            raise ValueError('/prompt: expected text or token ids, as in {"prompt": ...}')
        builder = _PromptBuilder()
        builder.prompt(prompt)
        keys = [f"lora={spans.compact(root.value['lora'])}"] if root.value.get("lora") else []
        found = builder.finish(root.value, *keys)
        slot = root.value.get("id_slot")
        if type(slot) is not int or slot < 0:
            return found
        return CanonicalPrompt(found.segments, found.markers, found.namespace, affinity=str(slot))

    def read_body(self, body: bytes) -> Reading:
        reader = _Reader()
        if take_body(body, reader.progress, reader.take) and not reader.answered:
            reader.progress.fail("the reply holds no content")
        return reader.reading(ended=True)

    def read_stream(self, events: Sequence[StreamEvent]) -> Reading:
        reader = _Reader()
        take_events(events, reader.progress, reader.take)
        return reader.reading(ended=False)


def chatml(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()) -> str:
    """Messages as ChatML with the opening of the answer behind them; tools and tool calls as lines of JSON."""
    parts = [("system", "\n".join(spans.compact(tool) for tool in tools))] if tools else []
    for message in messages:
        lines = [text_of_content(message.get("content"))]
        for _, name, arguments in calls_of(message):
            lines.append(spans.compact({"name": name, "arguments": arguments_object(arguments)}))
        parts.append((str(message.get("role")), "\n".join(line for line in lines if line)))
    return "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in parts) + "<|im_start|>assistant\n"


class _PromptBuilder(PromptBuilder):
    def prompt(self, node: Node) -> None:
        if isinstance(node.value, str):
            self.add("user", node, node.value)
        elif isinstance(node.value, dict):
            self.multimodal(node)
        elif len(node.value) == 1 and isinstance(node.value[0], list | dict):
            self.prompt(node.items()[0])
        elif any(isinstance(one, list | dict) for one in node.value) or (
            len(node.value) > 1 and all(isinstance(one, str) for one in node.value)
        ):
            raise ValueError(f"{node.pointer}: several prompts in one request")
        elif any(isinstance(one, str) for one in node.value):
            for item in node.items():
                self.add("user", item, item.value if isinstance(item.value, str) else f"{item.value} ")
        else:
            # The space behind each id keeps a longer list of ids an extension of a shorter one, as text too.
            self.add("user", node, "".join(f"{one} " for one in node.value))

    def multimodal(self, node: Node) -> None:
        members = node.members()
        self.values("user", members, "prompt_string")
        for item in members["multimodal_data"].items() if "multimodal_data" in members else ():
            self.add("image", item, digest(str(item.value)))


class _Reader:
    """Takes the chunks of a stream, or the one object of a plain reply."""

    def __init__(self) -> None:
        self.progress = Progress()
        self.answered = False
        self._pieces: list[str] = []
        self._ids: list[int] = []
        self._last: dict[str, Any] = {}
        self._finish_reason: str | None = None
        self._stopped = False

    def take(self, chunk: dict[str, Any], index: int | None = None) -> None:
        choice = next(iter(objects_of(chunk.get("choices"))), {})
        said = {name: value for name, value in chunk.items() if value is not None or name not in self._last}
        self._last = {**self._last, **said}
        self._finish_reason = text_or_none(choice.get("finish_reason")) or self._finish_reason
        self._stopped = self._stopped or chunk.get("stop") is True or self._finish_reason is not None
        content = chunk.get("content", choice.get("text"))
        if not isinstance(content, str):
            return
        self.answered = True
        self._pieces.append(content)
        ids = chunk.get("tokens", choice.get("token_ids"))
        if isinstance(ids, list) and all(type(one) is int for one in ids):
            self._ids.extend(ids)
        if content or ids:
            self.progress.token(index, visible=content != "")

    def reading(self, *, ended: bool) -> Reading:
        usage, fault = read_usage(self._last)
        if fault is not None:
            self.progress.faults.append(fault)
        timings = object_of(self._last.get("timings")) or None
        reply = self._reply(usage, timings) if self.answered else None
        raw = timings or object_of(self._last.get("usage")) or None
        return self.progress.reading(reply, usage, raw, complete=self._stopped or ended)

    def _reply(self, usage: Usage, timings: dict[str, Any] | None) -> Reply:
        text = join_surrogates("".join(self._pieces))
        slot = self._last.get("id_slot")
        whole = bool(self._ids) and usage.output_tokens in (None, len(self._ids))
        return Reply(
            message={"role": "assistant", "content": text},
            text=text,
            finish_reason=text_or_none(self._last.get("stop_type")) or self._finish_reason,
            model=text_or_none(self._last.get("model")),
            token_ids=tuple(self._ids) if whole else None,
            slot=slot if type(slot) is int and slot >= 0 else None,
            server_timings=timings,
        )


def read_usage(reply: dict[str, Any]) -> tuple[Usage, str | None]:
    """The counts of the last chunk or of the body, and what was wrong with them."""
    if object_of(reply.get("usage")) and not object_of(reply.get("timings")):
        return openai_usage.read_usage(reply)
    counts = Counts(reply)
    cached, cached_source = counts.take_cached(("timings", "cache_n"))
    prompt = counts.add_up("prompt_tokens", ("timings", "cache_n"), ("timings", "prompt_n"))
    if prompt is None:
        prompt = counts.take("prompt_tokens", ("tokens_evaluated",))
    found = Usage(
        prompt_tokens=prompt,
        cached_tokens=cached,
        output_tokens=counts.take("output_tokens", ("timings", "predicted_n"), ("tokens_predicted",)),
        cached_source=cached_source,
        sources=counts.shared_sources(),
    )
    return found, counts.fault
