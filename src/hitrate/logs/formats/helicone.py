"""Helicone: what its export tool (`npx @helicone/export`) writes as JSON, JSONL or CSV, and answers of its API
(`POST /v1/request/query-clickhouse`, `HeliconeRequest`: https://docs.helicone.ai/rest/request/post-v1requestquery-clickhouse).

A record has `request_body` and `response_body`, in JSON only with `--include-body`; `request_created_at`, `delay_ms`,
`time_to_first_token` in milliseconds; `request_properties` or `properties` with Helicone-Session-Id; and
`prompt_tokens`, `prompt_cache_read_tokens`, `prompt_cache_write_tokens`, `completion_tokens`, `total_tokens`. The usage
in the vendor's own answer goes before these columns: whether the prompt tokens hold the cached ones differs by vendor,
and the total settles it or nothing does. Tables have no cached tokens and no answers.

`cost` is in dollars or, as the database keeps it, in billionths; a number of a thousand or more is the latter. A body
that was too large is `{"heliconeMessage": "Request body too large", "tooLarge": true}`. The older tool doubles quotes
twice in its tables (examples/export/typescript/index.ts in github.com/Helicone/helicone).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from hitrate.core.model import Usage
from hitrate.core.records import Skipped
from hitrate.logs.in_order import in_order
from hitrate.logs.interface import Item, ReplyReader
from hitrate.logs.json_values import Row, body_of
from hitrate.logs.own_counts import count
from hitrate.logs.pairs import unix_time
from hitrate.logs.providers import target_of_provider, target_of_url, wire_of_url
from hitrate.logs.shapes import is_request_body, kind
from hitrate.logs.tables import first_rows, rows
from hitrate.logs.told import LeftOut, Told, calls_told, dollars, number, text, whole_prompt

_ARRAYS = (("data",),)
_SESSION = "helicone-session-id"
_NO_REFERENCE = ("", "00000000-0000-0000-0000-000000000000")
_BILLIONTHS_FROM = 1000.0
_COUNTS = (
    "prompt_tokens", "completion_tokens", "total_tokens", "prompt_cache_read_tokens", "prompt_cache_write_tokens",
)  # fmt: skip


class Helicone:
    name = "helicone"
    about = "Helicone's export of requests (JSON, JSONL, CSV)"

    def matches(self, head: bytes, path: str) -> bool:
        return any(
            "request_created_at" in row or ("request_body" in row and "response_body" in row)
            for row in first_rows(head, _ARRAYS)
        )

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        yield from in_order(_items(stream, read_reply))


def _items(stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
    left_out = LeftOut()
    for row in rows(stream, _ARRAYS):
        if isinstance(row, Skipped):
            yield row
            continue
        yield from row.remarks
        record = row.value
        if not isinstance(record, dict):
            yield Skipped(line=row.line, reason=f"the record is {kind(record)}, expected an object")
        elif text(record.get("cache_reference_id")) not in _NO_REFERENCE:
            left_out.add(row.line, "answers from Helicone's own cache, for which no model was asked")
        elif "/embeddings" in text(record.get("request_path")):
            left_out.add(row.line, "embeddings")
        else:
            yield from calls_told(_told(row, record), read_reply, row.line)
    yield from left_out.remarks()


def _told(row: Row, record: dict[str, Any]) -> Told:
    given = _cell(record.get("request_body"))
    request, body = body_of(given)
    withheld = None
    if request is not None and not is_request_body(request):
        message = text(request.get("heliconeMessage")) or text(request.get("helicone_message"))
        withheld = f"the request is not in the export: {message}" if message else None
        request, body = None, b""
    elif request is None and isinstance(given, str) and given.strip():
        withheld = "the request is no JSON object, or is cut off"
    usage, doubt = _usage(record)
    response = _response(_cell(record.get("response_body")))
    created, answered = (unix_time(record.get(name)) for name in ("request_created_at", "response_created_at"))
    model = text(record.get("model")) or text(record.get("response_model")) or text(record.get("request_model"))
    url = text(record.get("target_url"))
    status = count(record.get("response_status")) or None
    return Told(
        request=request,
        body=body,
        withheld=withheld,
        response=response,
        usage=usage,
        raw_usage=_columns(record),
        doubts=() if doubt is None or _has_usage(response) else (doubt,),
        cost=_cost(record),
        wire=wire_of_url(text(record.get("request_path"))) or wire_of_url(url),
        target=target_of_provider(text(record.get("provider")), model) or target_of_url(url),
        model=model or None,
        session=_session(record),
        at=created,
        ttft_s=_seconds(record.get("time_to_first_token")) or None,
        total_s=_seconds(record.get("delay_ms")) or _between(created, answered),
        status=status,
        error=None if status is None or status < 400 or "error" in (response or {}) else f"status {status}",
    )


def _cell(value: Any) -> Any:
    """A body that is text, also one whose quotes were doubled once too often."""
    if isinstance(value, str) and value.lstrip().startswith('{""'):
        undoubled = value.replace('""', '"')
        try:
            json.loads(undoubled)
        except (ValueError, RecursionError):
            return value
        return undoubled
    return value


def _response(given: Any) -> dict[str, Any] | None:
    """The vendor's answer; of a stream that Helicone did not put together, its events."""
    found, _ = body_of(given)
    if found is None:
        return None
    events = found.get("streamed_data")
    if isinstance(events, list) and "usage" not in found:
        return {"events": events}
    return {name: value for name, value in found.items() if name != "streamed_data"} or None


def _has_usage(response: Mapping[str, Any] | None) -> bool:
    return response is not None and any(name in response for name in ("usage", "usageMetadata", "events"))


def _columns(record: Mapping[str, Any]) -> dict[str, Any] | None:
    return {name: record[name] for name in _COUNTS if record.get(name) is not None} or None


def _usage(record: Mapping[str, Any]) -> tuple[Usage | None, str | None]:
    """What the columns say, and why they do not say all."""
    prompt, output, total, cached, written = (count(record.get(name)) for name in _COUNTS)
    if not prompt and not output:  # zeros stand for what was not counted
        return None, None
    whole, doubt = whole_prompt(prompt, cached, written, output, total)
    found = Usage(
        prompt_tokens=whole,
        cached_tokens=cached,
        written_tokens=written,
        output_tokens=output,
        cached_source="absent" if cached is None else "prompt_cache_read_tokens",
        sources={"prompt_tokens": "prompt_tokens" if whole == prompt else "prompt_tokens + prompt_cache_read_tokens"},
    )
    return found, doubt


def _cost(record: Mapping[str, Any]) -> float | None:
    for name in ("costUSD", "cost_usd", "cost"):
        if (found := dollars(record.get(name))) is not None:
            return found / 1e9 if name == "cost" and found >= _BILLIONTHS_FROM else found
    return None


def _session(record: Mapping[str, Any]) -> str:
    for name in ("request_properties", "properties"):
        properties, _ = body_of(_cell(record.get(name)))
        for key, value in (properties or {}).items():
            if key.lower() == _SESSION:
                return text(value)
    return ""


def _seconds(value: Any) -> float | None:
    found = number(value)
    return None if found is None else found / 1000


def _between(created: float | None, answered: float | None) -> float | None:
    return None if created is None or answered is None else answered - created
