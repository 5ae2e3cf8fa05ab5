"""OpenRouter: generations as `GET /api/v1/generation` tells them (JSON or JSONL, with or without its `data` around),
and the table of single generations that the activity page exports (CSV).

Generations (https://openrouter.ai/docs/api-reference/get-a-generation): `native_tokens_prompt`,
`native_tokens_cached`, `native_tokens_completion` are counted by the model's own tokeniser and billed;
`tokens_prompt` there is by another one and not used. `total_cost` in US dollars, `created_at`, `latency` and
`generation_time` in milliseconds, `provider_name`. The table has `generation_id`, `created_at` (UTC), `cost_total`,
`tokens_prompt`, `tokens_cached`, `tokens_completion`, `model_permaslug`, `provider_name`, `time_to_first_token_ms`.
Cached tokens are part of the prompt tokens; of a replayed answer they can be more.

Neither holds text. Sums by day or hour (`GET /api/v1/activity`, the page's charts) are refused: a sum over calls says
nothing about any of them. What Broadcast sends is OpenTelemetry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from hitrate.core.model import Usage
from hitrate.core.records import Skipped
from hitrate.logs.in_order import in_order
from hitrate.logs.interface import Item, ReplyReader
from hitrate.logs.json_values import Row
from hitrate.logs.own_counts import count
from hitrate.logs.pairs import unix_time
from hitrate.logs.shapes import kind
from hitrate.logs.tables import first_rows, rows
from hitrate.logs.told import Told, calls_told, dollars, number, text

_ARRAYS = (("data",), ("generations",))
_PROMPT = ("native_tokens_prompt", "tokens_prompt")
_OUTPUT = ("native_tokens_completion", "tokens_completion")
_CACHED = ("native_tokens_cached", "tokens_cached")
_REASONING = ("native_tokens_reasoning", "tokens_reasoning")

_WIRES = {"completions": "openai-chat", "responses": "openai-responses", "messages": "anthropic-messages"}
"""`api_type`."""


class OpenRouter:
    name = "openrouter"
    about = "OpenRouter's generations (JSON, JSONL) or its table of them (CSV); without text"

    def matches(self, head: bytes, path: str) -> bool:
        found = first_rows(head, _ARRAYS)
        return any(_is_generation(row) or _is_sum(row) for row in found) or b'"native_tokens_prompt"' in head

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        yield from in_order(_items(stream, read_reply))


def _is_generation(row: Mapping[str, Any]) -> bool:
    return "native_tokens_prompt" in row or ("generation_id" in row and "tokens_prompt" in row)


def _is_sum(row: Mapping[str, Any]) -> bool:
    return "requests" in row and "byok_usage_inference" in row


def _items(stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
    for row in rows(stream, _ARRAYS):
        if isinstance(row, Skipped):
            yield row
            continue
        yield from row.remarks
        yield from _record(row, read_reply)


def _record(row: Row, read_reply: ReplyReader) -> Iterator[Item]:
    record = row.value
    if isinstance(record, dict) and isinstance(inner := record.get("data"), dict):
        record = inner
    if not isinstance(record, dict):
        yield Skipped(line=row.line, reason=f"the record is {kind(record)}, expected a generation")
    elif _is_sum(record):
        yield Skipped(line=row.line, reason=f"a sum over {record['requests']} requests, expected single generations")
    else:
        yield from calls_told(_told(record), read_reply, row.line)


def _told(record: dict[str, Any]) -> Told:
    provider = text(record.get("provider_name"))
    ttft_ms, latency_ms = number(record.get("time_to_first_token_ms")), number(record.get("latency"))
    usage, raw_usage = _usage(record)
    return Told(
        usage=usage,
        raw_usage=raw_usage,
        cost=_cost(record),
        wire=_WIRES.get(text(record.get("api_type")), "openai-chat"),
        target="openrouter",
        model=text(record.get("model")) or text(record.get("model_permaslug")) or None,
        session=text(record.get("session_id")),
        at=unix_time(record.get("created_at")),
        ttft_s=None if not ttft_ms else ttft_ms / 1000,
        total_s=None if not latency_ms else latency_ms / 1000,
        response_headers={"provider": provider} if provider else {},
    )


def _usage(record: dict[str, Any]) -> tuple[Usage | None, dict[str, Any] | None]:
    """The counts, and as they stand in the record. Native ones and others are never mixed."""
    table = "native_tokens_prompt" not in record
    names = [pair[table] for pair in (_PROMPT, _CACHED, _OUTPUT, _REASONING)]
    prompt, cached, output, reasoning = (count(record.get(name)) for name in names)
    if prompt is None and output is None:
        return None, None
    found = Usage(
        prompt_tokens=prompt,
        cached_tokens=cached,
        output_tokens=output,
        reasoning_tokens=reasoning,
        cached_source=names[1] if cached is not None else "null" if names[1] in record else "absent",
        sources={"prompt_tokens": names[0]},
    )
    return found, {name: record[name] for name in names if name in record}


def _cost(record: Mapping[str, Any]) -> float | None:
    """Where the user's own key was used, OpenRouter's charge is not what the call cost."""
    if record.get("is_byok") is True or (number(record.get("byok_usage_inference")) or 0) > 0:
        return None
    return dollars(record.get("total_cost", record.get("cost_total", record.get("usage"))))
