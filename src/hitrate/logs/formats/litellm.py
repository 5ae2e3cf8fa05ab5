"""LiteLLM: its proxy's spend logs (table LiteLLM_SpendLogs: JSON, JSONL, CSV, or the answer of `/spend/logs` and
`/spend/logs/ui`), and the standard logging payload that its callbacks write (S3, GCS, Azure, custom ones), one document
a call or JSONL.

Spend logs (litellm/proxy/schema.prisma, `SpendLogsPayload` in litellm/proxy/_types.py): `messages` is always empty; the
request as the client sent it is in `proxy_server_request`, and the answer in `response`, both only where
`store_prompts_in_spend_logs` is set, and with long strings cut in the middle: "... (litellm_truncated skipped N chars)
..." (litellm/proxy/spend_tracking/spend_tracking_utils.py). Columns of the type jsonb bring the members of objects into
an order of their own, so a changed key order does not show in them. `metadata.usage_object` has the usage.

Standard payload (`StandardLoggingPayload` in litellm/types/utils.py, https://docs.litellm.ai/docs/proxy/logging_spec):
`messages` and `model_parameters` for the request, `response`, times as Unix seconds. Masked text reads
"redacted-by-litellm" (litellm/litellm_core_utils/redact_messages.py), cut text ends in "truncated by litellm, this
logger does not support large content" (litellm/integrations/custom_logger.py).

Usage is in the shape of chat completions whoever answered. Cached tokens are part of the prompt tokens, except in some
versions for some vendors (https://github.com/BerriAI/litellm/issues/15270), and nested and top-level counters can
disagree (https://github.com/BerriAI/litellm/issues/11789): then the cached tokens are unknown. Where nobody names a
session LiteLLM makes up an id for each call; an id of one call alone is therefore none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from hitrate.core.records import Skipped
from hitrate.logs.in_order import in_order
from hitrate.logs.interface import Item, ReplyReader
from hitrate.logs.json_values import Row, body_of, unpacked
from hitrate.logs.own_counts import count
from hitrate.logs.pairs import unix_time
from hitrate.logs.providers import target_of_provider
from hitrate.logs.shapes import is_request_body, kind
from hitrate.logs.tables import first_rows, rows
from hitrate.logs.told import LeftOut, Told, calls_told, dollars, text

_ARRAYS = (("data",),)

_WIRES = {
    "completion": "openai-chat",
    "anthropic_messages": "anthropic-messages",
    "responses": "openai-responses",
    "generate_content": "gemini-generate",
    "generate_content_stream": "gemini-generate",
    "text_completion": None,
    "pass_through_endpoint": None,
    "allm_passthrough_route": None,
    "llm_passthrough_route": None,
    "": None,
}
"""`call_type`, without the `a` of its asynchronous twin, and the wire of the client's request; None: by its shape."""

_NOT_WHOLE = (
    ("litellm_truncated", "the request was cut to fit LiteLLM's database (MAX_STRING_LENGTH_PROMPT_IN_DB)"),
    ("truncated by litellm", "the request was cut by LiteLLM's logger"),
    ("redacted-by-litellm", "the request's text was masked by LiteLLM (turn_off_message_logging)"),
    ("REDACTED_BY_LITELM", "the request's text was masked by LiteLLM"),
)

_NOT_SENT_ON = frozenset({"api_key", "api_base", "secret_fields", "proxy_server_request", "headers", "extra_headers"})
"""Members of a request that LiteLLM keeps for itself, beside those that begin with `litellm_`. Some hold keys."""


class LiteLlm:
    name = "litellm"
    about = "LiteLLM's spend logs (JSON, JSONL, CSV) or standard logging payloads"

    def matches(self, head: bytes, path: str) -> bool:
        return any(_is_record(row) for row in first_rows(head, _ARRAYS))

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        ids: set[str] = set()
        yield from in_order(_items(stream, read_reply, ids), ids)


def _is_record(row: Mapping[str, Any]) -> bool:
    return "standard_logging_object" in row or (
        "call_type" in row
        and "traceId" not in row
        and any(name in row for name in ("startTime", "spend", "response_cost", "request_id"))
    )


def _items(stream: BinaryIO, read_reply: ReplyReader, ids: set[str]) -> Iterator[Item]:
    """`ids` gets the sessions: which of them LiteLLM made up does not show."""
    left_out = LeftOut()
    for row in rows(stream, _ARRAYS):
        if isinstance(row, Skipped):
            yield row
            continue
        yield from row.remarks
        yield from _record(row, read_reply, left_out, ids)
    yield from left_out.remarks()


def _record(row: Row, read_reply: ReplyReader, left_out: LeftOut, ids: set[str]) -> Iterator[Item]:
    record = row.value
    if isinstance(record, dict) and isinstance(inner := record.get("standard_logging_object"), dict):
        record = inner
    if not isinstance(record, dict):
        yield Skipped(line=row.line, reason=f"the record is {kind(record)}, expected an object")
        return
    called = text(record.get("call_type"))
    wire = called if called in _WIRES else called.removeprefix("a")
    if wire not in _WIRES:
        left_out.add(row.line, f"calls of the type {called!r}, which generate nothing")
    elif str(record.get("cache_hit")).lower() == "true":
        left_out.add(row.line, "answers from LiteLLM's own response cache, for which no model was asked")
    else:
        told = _told(record, _WIRES[wire])
        ids.add(told.session)
        yield from calls_told(told, read_reply, row.line)


def _told(record: dict[str, Any], wire: str | None) -> Told:
    metadata = _object(unpacked(record.get("metadata")))
    provider = text(record.get("custom_llm_provider"))
    model = text(record.get("model")).removeprefix(f"{provider}/") or None
    request, body, is_rebuilt = _request(record, model)
    answer = unpacked(record.get("response"))
    response, raw_usage, doubt = _response(answer, record, metadata)
    started, ended = (unix_time(_time(record.get(name))) for name in ("startTime", "endTime"))
    first = unix_time(_time(record.get("completionStartTime")))
    streamed = started is not None and first is not None and ended is not None and started < first < ended
    model_id = text(record.get("model_id"))
    return Told(
        request=request,
        body=body,
        rebuilt=is_rebuilt,
        withheld=_not_whole(record, body),
        response=response,
        raw_usage=raw_usage,
        doubts=() if doubt is None else (doubt,),
        cost=dollars(record.get("spend", record.get("response_cost"))),
        wire=wire,
        target=target_of_provider(provider, model),
        model=model,
        session=text(record.get("session_id")) or text(record.get("trace_id")),
        at=started,
        ttft_s=first - started if streamed and first is not None and started is not None else None,
        total_s=None if started is None or ended is None else ended - started,
        status=count(_object(_error(record, metadata)).get("error_code")) or None,
        error=_error_text(record, metadata),
        response_headers={"x-litellm-model-id": model_id} if model_id else {},
    )


def _request(record: dict[str, Any], model: str | None) -> tuple[Any, bytes, bool]:
    """The client's request, or one made of messages and parameters as LiteLLM sent them on; which of them it is."""
    sent = unpacked(record.get("proxy_server_request"))
    if isinstance(sent, dict) and isinstance(inner := unpacked(sent.get("body")), dict):
        sent = inner
    if isinstance(sent, dict) and is_request_body(sent):
        return *body_of({name: value for name, value in sent.items() if _is_sent_on(name)}), False
    messages = unpacked(record.get("messages"))
    if isinstance(messages, dict) and is_request_body(messages):
        return *body_of({"model": model, **messages}), True
    if not messages or not isinstance(messages, list | str):
        return None, b"", False
    called = text(record.get("call_type"))
    member = "input" if "responses" in called else "messages" if isinstance(messages, list) else "prompt"
    parameters = _object(unpacked(record.get("model_parameters", record.get("modelParameters"))))
    kept = {name: value for name, value in parameters.items() if _is_sent_on(name) and name != member}
    return *body_of({"model": model, **kept, member: messages}), True


def _is_sent_on(name: str) -> bool:
    return name not in _NOT_SENT_ON and not name.startswith(("litellm_", "user_api_key"))


def _not_whole(record: dict[str, Any], body: bytes) -> str | None:
    for mark, reason in _NOT_WHOLE:
        if mark.encode() in body:
            return reason
    messages = record.get("messages")
    return next((reason for mark, reason in _NOT_WHOLE if isinstance(messages, str) and mark in messages), None)


def _response(
    answer: Any, record: dict[str, Any], metadata: dict[str, Any]
) -> tuple[dict[str, Any] | None, dict[str, Any] | None, str | None]:
    """What tells the usage: the answer, or usage alone as chat completions have it; the usage; and a doubt about it."""
    hidden = _object(unpacked(record.get("hidden_params")))
    response = answer if isinstance(answer, dict) else {}
    usage = (
        _object(response.get("usage"))
        or _object(metadata.get("usage_object"))
        or _object(hidden.get("usage_object"))
        or _object(unpacked(record.get("usage")))
        or _of_columns(record, metadata)
    )
    if "usageMetadata" in response or ("input_tokens" in usage and "prompt_tokens" not in usage):
        return {**response, "usage": usage} if usage else response, usage or None, None
    if not usage:
        return response or None, None, None
    told, doubt = _agreed(usage)
    kept = {name: value for name, value in response.items() if name != "usage"}
    return {**kept, "usage": told}, usage, doubt


def _of_columns(record: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Any]:
    """The usage of versions that keep its rest beside the columns; {} for a row of zeros, as of a call that failed."""
    counts = {name: count(record.get(name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
    if not any(counts.values()):
        return {}
    return {**_object(metadata.get("additional_usage_values")), **counts}


def _agreed(usage: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """The usage with lifetimes of writes where chat completions have them, without counters that contradict another."""
    details = dict(_object(usage.get("prompt_tokens_details")))
    if isinstance(lifetimes := details.pop("cache_creation_token_details", None), dict):
        details["cache_creation"] = lifetimes
    nested, beside = count(details.get("cached_tokens")), count(usage.get("cache_read_input_tokens"))
    told = dict(usage)
    if "prompt_tokens_details" in usage:
        told["prompt_tokens_details"] = details or usage["prompt_tokens_details"]
    if nested is None or beside is None or nested == beside:
        return told, None
    del told["cache_read_input_tokens"]
    told["prompt_tokens_details"] = {**details, "cached_tokens": None}
    return told, (
        f"prompt_tokens_details.cached_tokens says {nested:,} and cache_read_input_tokens {beside:,}; "
        "the cached tokens are taken as not known"
    )


def _error(record: dict[str, Any], metadata: dict[str, Any]) -> Any:
    return unpacked(record.get("error_information")) or metadata.get("error_information")


def _error_text(record: dict[str, Any], metadata: dict[str, Any]) -> str | None:
    if "fail" not in (text(record.get("status")) or text(metadata.get("status"))):
        return None
    information = _object(_error(record, metadata))
    said = text(record.get("error_str")) or text(information.get("error_message"))
    return said.splitlines()[0][:300] if said else "the call failed"


def _time(value: Any) -> Any:
    """Seconds in a table's cell are text."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
