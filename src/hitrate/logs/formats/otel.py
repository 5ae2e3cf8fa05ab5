"""Spans of model calls by OpenTelemetry's conventions for generative AI, and those of other instrumentations.

Read are OTLP in JSON (`resourceSpans`, also `resourceLogs` with one event a call), as one document or one request a
line; exports of one trace (`spans`) and of Jaeger (`data`); and JSONL of spans, `attributes` as a mapping or as OTLP's
list of keys. How the prompt is spelled: `otel_messages`. Of token counts too there are several spellings, old and new;
`gen_ai.usage.input_tokens` includes what was read from the cache and written to it
(https://github.com/open-telemetry/semantic-conventions-genai, docs/registry/attributes/gen-ai.md).

Spans of agents, tools and retrieval are no calls, and neither is a span of a call that another one is inside of: a
framework's around that of the client library. Calls come in the order of their start,
which is not that of the file: exporters write a span when it has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from msgspec.structs import replace

from hitrate.core.model import Call, Timing, Usage
from hitrate.core.records import Remark, Skipped
from hitrate.logs.formats.otel_messages import request_body
from hitrate.logs.formats.otel_spans import HOLDERS, Span, spans_in
from hitrate.logs.in_order import in_order
from hitrate.logs.interface import Item, Repeated, ReplyReader
from hitrate.logs.json_values import Row
from hitrate.logs.lines import opening
from hitrate.logs.own_counts import first_count, usage_of
from hitrate.logs.providers import target_of_provider
from hitrate.logs.rebuilt import rebuilt_remark
from hitrate.logs.shapes import kind
from hitrate.logs.tables import rows

_IDS = (b'"span_id"', b'"spanId"', b'"spanID"', b'"parent_id"', b'"parentSpanId"')
_NAMES = ("gen_ai.", "openinference.span.kind", "llm.", "ai.operationId", "traceloop.")

_CALLS = ("chat", "text_completion", "generate_content", "completion", "messages")

_COUNTS: dict[str, tuple[str, ...]] = {
    "prompt": (
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "llm.usage.prompt_tokens",
        "llm.token_count.prompt",
        "ai.usage.inputTokens",
        "ai.usage.promptTokens",
    ),
    "cached": (
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.cached_tokens",
        "gen_ai.usage.input_tokens.cached",
        "gen_ai.usage.details.cache_read_tokens",
        "gen_ai.usage.details.cache_read_input_tokens",
        "gen_ai.usage.details.cached_tokens",
        "llm.usage.cache_read_input_tokens",
        "llm.token_count.prompt_details.cache_read",
        "ai.usage.cachedInputTokens",
    ),
    "written": (
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.details.cache_write_tokens",
        "gen_ai.usage.details.cache_creation_input_tokens",
        "llm.usage.cache_creation_input_tokens",
        "llm.token_count.prompt_details.cache_write",
    ),
    "output": (
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
        "llm.usage.completion_tokens",
        "llm.token_count.completion",
        "ai.usage.outputTokens",
        "ai.usage.completionTokens",
    ),
    "reasoning": (
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
        "gen_ai.usage.details.reasoning_tokens",
        "llm.usage.reasoning_tokens",
        "llm.token_count.completion_details.reasoning",
        "ai.usage.reasoningTokens",
    ),
}
"""The convention's name first, then those of its earlier versions and of other instrumentations."""

_MODELS = (
    "gen_ai.request.model",
    "gen_ai.response.model",
    "llm.request.model_name",
    "llm.model_name",
    "llm.request.model",
    "ai.model.id",
)
_PROVIDERS = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider")
_TARGETS = {
    "aws.bedrock": "bedrock",
    "azure.ai.openai": "azure",
    "az.ai.openai": "azure",
    "azure.ai.inference": "azure",
    "az.ai.inference": "azure",
    "gcp.gemini": "gemini",
    "gcp.gen_ai": "gemini",
    "mistral_ai": "mistral",
    "mistralai": "mistral",
    "moonshot_ai": "moonshot",
}
"""The convention's names of providers, where they differ from those used here."""

_SESSIONS = ("gen_ai.conversation.id", "session.id", "langfuse.session.id", "thread_id", "conversation_id")

_ARRAYS = (*((name,) for name in HOLDERS), ("spans",), ("data",))
"""Members of a document that hold its spans, so that one that is cut off keeps those in front."""


class Otel:
    name = "otel"
    about = "OpenTelemetry spans of model calls (OTLP JSON, Jaeger, JSONL)"

    def matches(self, head: bytes, path: str) -> bool:
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if any(name in opening(start.lstrip(b"[ \r\n\t")) for name in HOLDERS):
            return True
        names = any(f'"{name}'.encode() in start for name in _NAMES)
        spans = b'"attributes"' in start or b'"tags"' in start
        return names and spans and any(name in start for name in _IDS)

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        calls = _Calls()
        for item in in_order(calls.of(rows(stream, _ARRAYS))):
            if not isinstance(item, Call):
                yield item
            elif item.label in calls.parents:
                yield Repeated()
            else:
                yield replace(item, label="")


class _Calls:
    """Makes calls of spans. `label` is the id of a call's span until `parents` are known: the spans that calls are
    inside of."""

    def __init__(self) -> None:
        self.parents: set[str] = set()
        self._any_body = False

    def of(self, found: Iterator[Row | Skipped]) -> Iterator[Item]:
        for row in found:
            if isinstance(row, Skipped):
                yield row
                continue
            yield from row.remarks
            if not isinstance(row.value, dict | list):
                yield Skipped(line=row.line, reason=f"the record is {kind(row.value)}, expected an object")
                continue
            for span in spans_in(row.value):
                if _is_call(span):
                    if span.parent_id:
                        self.parents.add(span.parent_id)
                    yield from self._call(span, row.line)

    def _call(self, span: Span, line: int | None) -> Iterator[Item]:
        attributes = span.attributes
        counts = {figure: first_count(attributes, names) for figure, names in _COUNTS.items()}
        usage, odd = usage_of(
            prompt=counts["prompt"],
            cached=counts["cached"],
            written=counts["written"],
            output=counts["output"],
            reasoning=counts["reasoning"],
        )
        model = _first_text(attributes, _MODELS)
        provider = (_first_text(attributes, _PROVIDERS) or "").lower()
        target = _TARGETS.get(provider) or target_of_provider(provider, model)
        body = request_body(attributes, span.events, model)
        if not body and usage == Usage() and span.error is None:
            yield Skipped(line=line, reason=f"span {span.name!r} has neither a prompt nor token counts")
            return
        if odd is not None:
            yield Remark(line=line, what=odd)
        if body and not self._any_body:
            self._any_body = True
            yield rebuilt_remark("cache markers, and without tool definitions where a span has none")
        yield Call(
            target=target,
            label=span.own_id,
            dialect="openai-chat",
            body=body,
            rebuilt=bool(body),
            model=model,
            session=_session(attributes),
            usage=usage,
            timing=_timing(span),
            raw_usage={found[1]: found[0] for found in counts.values() if found is not None} or None,
            error=span.error,
            line=line,
        )


def _timing(span: Span) -> Timing | None:
    if span.start is None:
        return None
    total_s = None if span.end is None else span.end - span.start
    return Timing(at=span.start, sent_at_s=span.start, ttft_s=_ttft(span.attributes), total_s=total_s)


def _is_call(span: Span) -> bool:
    attributes = span.attributes
    kind_of_span = attributes.get("openinference.span.kind")
    if kind_of_span is not None:
        return kind_of_span == "LLM"
    if operation := attributes.get("ai.operationId"):  # the inner one of two: the outer sums up its steps
        return str(operation).startswith("ai.") and str(operation).rpartition(".")[2] in ("doGenerate", "doStream")
    if operation := attributes.get("gen_ai.operation.name"):
        return operation in _CALLS
    if request_type := attributes.get("llm.request.type"):
        return request_type in _CALLS
    return any(name in attributes for name in ("gen_ai.request.model", *_COUNTS["prompt"]))


def _first_text(attributes: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next(
        (attributes[name] for name in names if isinstance(attributes.get(name), str) and attributes[name]), None
    )


def _session(attributes: Mapping[str, Any]) -> str:
    """By the convention's name, or any whose last words are session id. A trace is not taken for one."""
    named = (attributes[name] for name in _SESSIONS if attributes.get(name))
    ending = (
        value for name, value in attributes.items() if name.endswith((".session.id", ".session_id", ".thread_id"))
    )
    found = next((value for value in (*named, *ending) if isinstance(value, str | int)), "")
    return str(found)


def _ttft(attributes: Mapping[str, Any]) -> float | None:
    for name, unit_s in (("gen_ai.response.time_to_first_chunk", 1.0), ("ai.response.msToFirstChunk", 1e-3)):
        value = attributes.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            return float(value) * unit_s
    return None
