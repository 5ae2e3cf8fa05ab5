"""One conversation whose instructions hold a clock, as each gateway or capture tool exports it."""

from __future__ import annotations

import base64
import csv
import datetime
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any

START = 1_793_534_400.0
HANDBOOK = " ".join(f"Part {number} fits frames of {number + 40} centimetres." for number in range(220))
PROMPTS, CACHED, OUTPUT = (2300, 2340, 2380, 2420), 0, 30


def body(turn: int, *, clock: bool = True) -> dict[str, Any]:
    """The request of a turn, for chat completions."""
    now = f"It is 2026-11-01 12:{turn:02}:07. " if clock else ""
    messages = [{"role": "system", "content": f"You sell bicycles. {now}{HANDBOOK}"}]
    for number in range(turn + 1):
        messages.append({"role": "user", "content": f"Question {number}: which chain?"})
        messages.append({"role": "assistant", "content": f"Answer {number}: the long one."})
    return {"model": "gpt-5.2", "messages": messages[:-1], "temperature": 0.2}


def usage(turn: int, cached: int = CACHED) -> dict[str, Any]:
    prompt = PROMPTS[turn]
    return {
        "prompt_tokens": prompt,
        "completion_tokens": OUTPUT,
        "total_tokens": prompt + OUTPUT,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def answer(turn: int) -> dict[str, Any]:
    message = {"role": "assistant", "content": f"Answer {turn}: the long one."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {
        "id": f"chatcmpl-{turn}",
        "object": "chat.completion",
        "created": int(START) + 20 * turn,
        "model": "gpt-5.2",
        "choices": [choice],
        "usage": usage(turn),
    }


def iso(turn: int, after: float = 0.0) -> str:
    moment = datetime.datetime.fromtimestamp(START + 20 * turn + after, datetime.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


TURNS = range(len(PROMPTS))


def table(records: Sequence[dict[str, Any]]) -> bytes:
    """CSV; what is no text is JSON in its cell."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(records[0])
    for record in records:
        writer.writerow([cell if isinstance(cell, str) else json.dumps(cell) for cell in record.values()])
    return out.getvalue().encode()


def litellm_spend(turn: int, **more: Any) -> dict[str, Any]:
    return {
        "request_id": f"chatcmpl-{turn}",
        "call_type": "acompletion",
        "api_key": "88dc28d0f030c55ed4ab77ed8faf098196cb1c05df778539800c9f1243fe6b4b",
        "spend": 0.0043,
        "total_tokens": PROMPTS[turn] + OUTPUT,
        "prompt_tokens": PROMPTS[turn],
        "completion_tokens": OUTPUT,
        "startTime": iso(turn),
        "endTime": iso(turn, 2.5),
        "completionStartTime": iso(turn, 0.4),
        "model": "openai/gpt-5.2",
        "model_id": "7d2c",
        "model_group": "shop-model",
        "custom_llm_provider": "openai",
        "metadata": {"usage_object": usage(turn), "user_api_key": "88dc", "status": "success"},
        "cache_hit": "False",
        "messages": {},
        "response": answer(turn),
        "session_id": f"made-up-{turn}",
        "status": "success",
        "proxy_server_request": {**body(turn), "model": "shop-model", "metadata": {"user_api_key": f"{turn}"}},
        **more,
    }


def litellm_payload(turn: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{turn}",
        "trace_id": "trace-1",
        "call_type": "acompletion",
        "stream": True,
        "response_cost": 0.0043,
        "status": "success",
        "custom_llm_provider": "openai",
        "total_tokens": PROMPTS[turn] + OUTPUT,
        "prompt_tokens": PROMPTS[turn],
        "completion_tokens": OUTPUT,
        "startTime": START + 20 * turn,
        "endTime": START + 20 * turn + 2.5,
        "completionStartTime": START + 20 * turn + 0.4,
        "response_time": 0.4,
        "model": "gpt-5.2",
        "model_id": "7d2c",
        "api_base": "https://api.openai.com",
        "metadata": {"usage_object": usage(turn), "user_api_key_hash": "88dc"},
        "cache_hit": None,
        "messages": body(turn)["messages"],
        "response": answer(turn),
        "model_parameters": {"temperature": 0.2, "stream": True},
        "hidden_params": {"model_id": "7d2c", "additional_headers": {}},
        **more,
    }


def langfuse(turn: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"obs-{turn}",
        "traceId": f"trace-{turn}",
        "startTime": iso(turn),
        "endTime": iso(turn, 2.5),
        "projectId": "p",
        "parentObservationId": None,
        "type": "GENERATION",
        "name": "answer",
        "level": "DEFAULT",
        "completionStartTime": iso(turn, 0.4),
        "input": body(turn)["messages"],
        "output": answer(turn)["choices"][0]["message"],
        "metadata": {},
        "model": "gpt-5.2",
        "modelParameters": {"temperature": 0.2},
        "usageDetails": {"input": PROMPTS[turn], "output": OUTPUT, "input_cached_tokens": 0,
                         "total": PROMPTS[turn] + OUTPUT},
        "costDetails": {"input": 0.004, "output": 0.0003, "total": 0.0043},
        "sessionId": "s-1",
        **more,
    }  # fmt: skip


def helicone(turn: int, **more: Any) -> dict[str, Any]:
    return {
        "response_id": f"resp-{turn}",
        "response_created_at": iso(turn, 2.5).replace("T", " ").removesuffix("Z"),
        "response_status": 200,
        "request_id": f"req-{turn}",
        "request_created_at": iso(turn).replace("T", " ").removesuffix("Z"),
        "request_body": body(turn),
        "request_path": "https://oai.helicone.ai/v1/chat/completions",
        "request_properties": {"Helicone-Session-Id": "s-1", "Environment": "shop"},
        "model": "gpt-5.2",
        "provider": "OPENAI",
        "delay_ms": 2500,
        "time_to_first_token": 400,
        "prompt_tokens": PROMPTS[turn],
        "completion_tokens": OUTPUT,
        "total_tokens": PROMPTS[turn] + OUTPUT,
        "prompt_cache_read_tokens": 0,
        "prompt_cache_write_tokens": 0,
        "cost": 0.0043,
        "response_body": answer(turn),
        **more,
    }


HELICONE_COLUMNS = (
    "response_id", "response_created_at", "response_status", "request_created_at", "request_body",
    "request_properties", "request_user_id", "model", "prompt_tokens", "completion_tokens", "latency", "cost",
)  # fmt: skip


def helicone_table(records: Iterable[dict[str, Any]], *, twice: bool = False) -> bytes:
    """The export tool's CSV; `twice` as its older version doubled the quotes of objects."""
    rows = []
    for record in records:
        row = {name: record.get(name, "") for name in HELICONE_COLUMNS}
        for name, value in row.items():
            if isinstance(value, dict) and twice:
                row[name] = json.dumps(value).replace('"', '""')
        rows.append(row)
    return table(rows)


def openrouter(turn: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"gen-{turn}",
        "upstream_id": f"chatcmpl-{turn}",
        "total_cost": 0.0043,
        "cache_discount": None,
        "created_at": iso(turn),
        "model": "openai/gpt-5.2",
        "streamed": True,
        "cancelled": False,
        "provider_name": "OpenAI",
        "latency": 400,
        "generation_time": 2100,
        "finish_reason": "stop",
        "tokens_prompt": PROMPTS[turn] + 11,
        "tokens_completion": OUTPUT,
        "native_tokens_prompt": PROMPTS[turn],
        "native_tokens_completion": OUTPUT,
        "native_tokens_reasoning": 0,
        "native_tokens_cached": 0,
        "is_byok": False,
        "api_type": "completions",
        **more,
    }


def batch_request(turn: int, **more: Any) -> dict[str, Any]:
    return {"custom_id": f"request-{turn}", "method": "POST", "url": "/v1/chat/completions", "body": body(turn), **more}


def batch_result(turn: int, **more: Any) -> dict[str, Any]:
    response = {"status_code": 200, "request_id": f"req-{turn}", "body": answer(turn)}
    return {"id": f"batch_req_{turn}", "custom_id": f"request-{turn}", "response": response, "error": None, **more}


KEY = "sk-proj-planted-key-0123456789"


def event_stream(turn: int) -> bytes:
    """The answer as a stream, with usage in its last chunk."""
    whole = answer(turn)
    head = {name: whole[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    text = whole["choices"][0]["message"]["content"]
    chunks = [
        {**head, "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {**head, "choices": [], "usage": whole["usage"]},
    ]
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


def har_entry(turn: int, *, url: str = "https://api.openai.com/v1/chat/completions", encode: bool = False) -> Any:
    stream = event_stream(turn)
    content: dict[str, Any] = {"size": len(stream), "mimeType": "text/event-stream"}
    content |= (
        {"text": base64.b64encode(stream).decode(), "encoding": "base64"} if encode else {"text": stream.decode()}
    )
    return {
        "startedDateTime": iso(turn),
        "time": 2600.0,
        "request": {
            "method": "POST",
            "url": url,
            "httpVersion": "HTTP/2",
            "headers": [
                {"name": "Authorization", "value": f"Bearer {KEY}"},
                {"name": "Cookie", "value": "session=planted-cookie-value"},
                {"name": "x-session-id", "value": "s-1"},
            ],
            "postData": {"mimeType": "application/json", "text": json.dumps(body(turn))},
        },
        "response": {"status": 200, "headers": [{"name": "x-request-id", "value": f"req-{turn}"}], "content": content},
        "cache": {},
        "timings": {"blocked": 50, "dns": -1, "connect": -1, "ssl": -1, "send": 50, "wait": 400, "receive": 2100},
    }


def har(entries: Sequence[Any]) -> bytes:
    log = {"version": "1.2", "creator": {"name": "WebInspector"}, "pages": [], "entries": list(entries)}
    return json.dumps({"log": log}, indent=1).encode()


def netstring(value: Any) -> bytes:
    """As mitmproxy writes it; a test's own words, so that the reader is held against another hand."""
    if isinstance(value, dict):
        data, kind = b"".join(netstring(name) + netstring(inner) for name, inner in value.items()), b"}"
    elif isinstance(value, list | tuple):
        data, kind = b"".join(map(netstring, value)), b"]"
    elif isinstance(value, bool):
        data, kind = (b"true" if value else b"false"), b"!"
    elif value is None:
        data, kind = b"", b"~"
    elif isinstance(value, bytes):
        data, kind = value, b","
    else:
        kind = {str: b";", int: b"#", float: b"^"}[type(value)]
        data = str(value).encode()
    return b"%d:%s%s" % (len(data), data, kind)


def flow(turn: int, **more: Any) -> dict[str, Any]:
    """The state of a flow of mitmproxy, of version 21 of the format."""
    sent = START + 20 * turn
    request = {
        "http_version": b"HTTP/2.0",
        "headers": ((b"authorization", b"Bearer " + KEY.encode()), (b"x-session-id", b"s-1")),
        "content": json.dumps(body(turn)).encode(), "trailers": None, "timestamp_start": sent - 0.1,
        "timestamp_end": sent, "host": "api.openai.com", "port": 443, "method": b"POST", "scheme": b"https",
        "authority": b"api.openai.com", "path": b"/v1/chat/completions",
    }  # fmt: skip
    response = {
        "http_version": b"HTTP/2.0", "headers": ((b"content-type", b"text/event-stream"),),
        "content": event_stream(turn), "trailers": None, "timestamp_start": sent + 0.4, "timestamp_end": sent + 2.5,
        "status_code": 200, "reason": b"OK",
    }  # fmt: skip
    return {
        "version": 21, "type": "http", "id": f"flow-{turn}", "error": None, "client_conn": {"id": "c"},
        "server_conn": {"id": "s"}, "request": request, "response": response, "websocket": None, **more,
    }  # fmt: skip


def lines(records: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


WITH_TEXT: dict[str, tuple[str, bytes]] = {
    "litellm spend logs": ("litellm", json.dumps([litellm_spend(turn) for turn in reversed(TURNS)]).encode()),
    "litellm spend table": ("litellm", table([litellm_spend(turn) for turn in reversed(TURNS)])),
    "litellm payloads": ("litellm", lines(litellm_payload(turn) for turn in TURNS)),
    "langfuse": ("langfuse", json.dumps([langfuse(turn) for turn in reversed(TURNS)]).encode()),
    "langfuse lines": ("langfuse", lines(langfuse(turn) for turn in TURNS)),
    "langfuse table": ("langfuse", table([langfuse(turn) for turn in reversed(TURNS)])),
    "helicone": ("helicone", lines(helicone(turn) for turn in reversed(TURNS))),
    "helicone table": ("helicone", helicone_table(helicone(turn) for turn in reversed(TURNS))),
    "batch": ("openai-batch", lines([*map(batch_request, TURNS), *map(batch_result, reversed(TURNS))])),
    "har": ("har", har([har_entry(turn) for turn in reversed(TURNS)])),
    "mitmproxy": ("mitmproxy", b"".join(netstring(flow(turn)) for turn in TURNS)),
}
"""Format and file, by what it is."""
