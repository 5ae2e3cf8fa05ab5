from __future__ import annotations

import json

import pytest
from log_files import jsonl, read

MESSAGES = [{"role": "system", "content": "be short"}, {"role": "user", "content": "hi"}]
PARTS = [{"role": one["role"], "parts": [{"type": "text", "content": one["content"]}]} for one in MESSAGES]

USAGE = {"gen_ai.usage.input_tokens": 900, "gen_ai.usage.output_tokens": 20}
NAMES = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5"}


def typed(value):
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [typed(one) for one in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": keyed(value)}}
    return {"stringValue": value}


def keyed(attributes):
    return [{"key": name, "value": typed(value)} for name, value in attributes.items()]


def span(number=1, parent="", start=1793534400, **more):
    found = {"spanId": f"s{number}", "parentSpanId": parent, "name": "chat", "startTimeUnixNano": f"{start}000000000"}
    return {**found, "endTimeUnixNano": f"{start + 2}500000000", **more}


def otlp(*spans):
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]}


def one(attributes, **more):
    return json.dumps(otlp(span(attributes=keyed(attributes), **more))).encode()


def body(call):
    return json.loads(call.body)


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.input.messages": json.dumps(MESSAGES)},
        {"gen_ai.input.messages": json.dumps(PARTS)},
        {"gen_ai.input.messages": PARTS},
        {
            "gen_ai.input.messages": json.dumps(PARTS[1:]),
            "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "be short"}]),
        },
        {
            "gen_ai.prompt.0.role": "system",
            "gen_ai.prompt.0.content": "be short",
            "gen_ai.prompt.1.role": "user",
            "gen_ai.prompt.1.content": "hi",
        },
        {
            "llm.input_messages.0.message.role": "system",
            "llm.input_messages.0.message.content": "be short",
            "llm.input_messages.1.message.role": "user",
            "llm.input_messages.1.message.contents.0.message_content.type": "text",
            "llm.input_messages.1.message.contents.0.message_content.text": "hi",
            "openinference.span.kind": "LLM",
        },
        {"input.value": json.dumps({"model": "gpt-5", "messages": MESSAGES}), "openinference.span.kind": "LLM"},
        {"ai.prompt.messages": json.dumps(MESSAGES), "ai.operationId": "ai.generateText.doGenerate"},
    ],
    ids=["text", "parts", "structured", "instructions", "OpenLLMetry", "OpenInference", "request", "Vercel"],
)
def test_the_spellings_of_one_prompt(tmp_path, attributes):
    (call,), records = read(tmp_path, one({**NAMES, **USAGE, **attributes}))
    assert body(call) == {"model": "gpt-5", "messages": MESSAGES}
    assert (call.target, call.dialect, call.model) == ("openai", "openai-chat", "gpt-5")
    assert (call.timing.at, call.timing.total_s, call.usage.prompt_tokens) == (1793534400.0, 2.5, 900)
    assert [remark.what[:30] for remark in records.remarks] == ["the requests are put together "]


EVENTS = [
    [
        {"name": "gen_ai.system.message", "attributes": keyed({"content": "be short"})},
        {"name": "gen_ai.user.message", "attributes": keyed({"content": "hi"})},
    ],
    [{"name": "gen_ai.content.prompt", "attributes": keyed({"gen_ai.prompt": json.dumps(MESSAGES)})}],
    [
        {
            "name": "gen_ai.client.inference.operation.details",
            "attributes": keyed({"gen_ai.input.messages": PARTS}),
        }
    ],
]


@pytest.mark.parametrize("events", EVENTS, ids=["one a message", "of the prompt", "of the call"])
def test_a_prompt_in_events(tmp_path, events):
    (call,), _ = read(tmp_path, one({**NAMES, **USAGE}, events=events))
    assert body(call)["messages"] == MESSAGES


TOOL = {"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}


@pytest.mark.parametrize(
    "attributes",
    [
        {
            "gen_ai.tool.definitions": json.dumps(
                [{"type": "function", "name": "find", "parameters": {"type": "object"}}]
            )
        },
        {"gen_ai.tool.definitions": json.dumps([TOOL])},
        {"llm.request.functions.0.name": "find", "llm.request.functions.0.parameters": '{"type": "object"}'},
        {"llm.tools.0.tool.json_schema": json.dumps(TOOL)},
        {"ai.prompt.tools": [json.dumps({"type": "function", "name": "find", "inputSchema": {"type": "object"}})]},
    ],
    ids=["flat", "chat", "OpenLLMetry", "OpenInference", "Vercel"],
)
def test_the_spellings_of_tools(tmp_path, attributes):
    (call,), _ = read(tmp_path, one({**NAMES, "gen_ai.input.messages": json.dumps(MESSAGES), **attributes}))
    assert body(call)["tools"] == [TOOL]


CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"a":1,"b":2}'}}


@pytest.mark.parametrize(
    "attributes",
    [
        {
            "gen_ai.input.messages": json.dumps(
                [
                    {
                        "role": "assistant",
                        "parts": [{"type": "tool_call", "id": "c1", "name": "find", "arguments": {"b": 2, "a": 1}}],
                    },
                    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "done"}]},
                ]
            )
        },
        {
            "llm.input_messages.0.message.role": "assistant",
            "llm.input_messages.0.message.tool_calls.0.tool_call.id": "c1",
            "llm.input_messages.0.message.tool_calls.0.tool_call.function.name": "find",
            "llm.input_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"a":1,"b":2}',
            "llm.input_messages.1.message.role": "tool",
            "llm.input_messages.1.message.tool_call_id": "c1",
            "llm.input_messages.1.message.content": "done",
        },
        {
            "gen_ai.prompt.0.role": "assistant",
            "gen_ai.prompt.0.tool_calls.0.id": "c1",
            "gen_ai.prompt.0.tool_calls.0.name": "find",
            "gen_ai.prompt.0.tool_calls.0.arguments": '{"a":1,"b":2}',
            "gen_ai.prompt.1.role": "tool",
            "gen_ai.prompt.1.tool_call_id": "c1",
            "gen_ai.prompt.1.content": "done",
        },
    ],
    ids=["parts", "OpenInference", "OpenLLMetry"],
)
def test_tool_calls_and_results(tmp_path, attributes):
    (call,), _ = read(tmp_path, one({**NAMES, **attributes}))
    assert body(call)["messages"] == [
        {"role": "assistant", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ]


@pytest.mark.parametrize(
    ("cached", "written"),
    [
        ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_creation.input_tokens"),
        ("gen_ai.usage.cache_read_input_tokens", "gen_ai.usage.cache_creation_input_tokens"),
        ("llm.token_count.prompt_details.cache_read", "llm.token_count.prompt_details.cache_write"),
        ("gen_ai.usage.details.cache_read_tokens", "gen_ai.usage.details.cache_write_tokens"),
    ],
)
def test_the_spellings_of_cached_tokens(tmp_path, cached, written):
    (call,), _ = read(tmp_path, one({**NAMES, **USAGE, cached: 600, written: 100}))
    assert (call.usage.prompt_tokens, call.usage.cached_tokens, call.usage.written_tokens) == (900, 600, 100)
    assert (call.usage.cached_source, call.usage.output_tokens) == (cached, 20)


def test_a_total_that_is_less_than_its_parts_is_none(tmp_path):
    read_tokens = {"gen_ai.usage.cache_read_input_tokens": 8000}
    (call,), records = read(tmp_path, one({**NAMES, **USAGE, **read_tokens}))
    assert call.usage.prompt_tokens == 8900
    assert "less than the cached and written tokens together" in records.remarks[0].what


def test_cached_tokens_that_no_span_has_stay_unknown(tmp_path):
    (call,), _ = read(tmp_path, one({**NAMES, **USAGE}))
    assert (call.usage.cached_tokens, call.usage.cached_source, call.body) == (None, "absent", b"")


PLAIN = {**NAMES, **USAGE, "gen_ai.input.messages": json.dumps(MESSAGES), "gen_ai.conversation.id": "c"}
JAEGER = {
    "data": [
        {
            "traceID": "t",
            "spans": [
                {
                    "spanID": "s1",
                    "operationName": "chat",
                    "startTime": 1793534400000000,
                    "duration": 2500000,
                    "tags": [{"key": name, "type": "string", "value": value} for name, value in PLAIN.items()],
                }
            ],
        }
    ]
}
EXPORT = {
    "trace_id": "t",
    "spans": [
        {
            "span_id": "s1",
            "start_time": "2026-11-01T12:00:00.000000",
            "end_time": "2026-11-01T12:00:02.500000",
            "attributes": PLAIN,
        }
    ],
}
CONSOLE = {
    "name": "chat",
    "context": {"trace_id": "0x1", "span_id": "0x2"},
    "parent_id": None,
    "start_time": "2026-11-01T12:00:00.000000Z",
    "end_time": "2026-11-01T12:00:02.500000Z",
    "attributes": PLAIN,
}


@pytest.mark.parametrize(
    "data",
    [
        one(PLAIN),
        jsonl(otlp(span(attributes=keyed(PLAIN)))),
        json.dumps(otlp(span(attributes=keyed(PLAIN))), indent=2).encode(),
        json.dumps(JAEGER).encode(),
        json.dumps(EXPORT, indent=2).encode(),
        jsonl(CONSOLE),
        json.dumps(CONSOLE, indent=4).encode(),
    ],
    ids=["OTLP", "OTLP a line", "OTLP over lines", "Jaeger", "trace", "spans a line", "console"],
)
def test_the_shapes_of_one_span(tmp_path, data):
    (call,), records = read(tmp_path, data)
    assert body(call)["messages"] == MESSAGES
    assert (call.session, call.timing.at, call.timing.total_s) == ("c", 1793534400.0, 2.5)
    assert records.damaged == 0


def test_a_log_record_a_call(tmp_path):
    record = {"eventName": "gen_ai.client.inference.operation.details", "timeUnixNano": "1793534400000000000"}
    record |= {"attributes": keyed(PLAIN), "spanId": "s1"}
    document = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    (call,), _ = read(tmp_path, json.dumps(document).encode())
    assert (body(call)["messages"], call.timing.at) == (MESSAGES, 1793534400.0)


def test_what_is_no_call_and_what_is_around_one(tmp_path):
    agent = span(1, attributes=keyed({"gen_ai.operation.name": "invoke_agent", **USAGE}))
    tool = span(2, attributes=keyed({"gen_ai.operation.name": "execute_tool"}))
    wrapper = span(3, "s1", attributes=keyed({"openinference.span.kind": "LLM", **USAGE}))
    inner = span(4, "s3", attributes=keyed({**NAMES, **USAGE}))
    calls, records = read(tmp_path, json.dumps(otlp(agent, tool, wrapper, inner)).encode())
    assert len(calls) == 1
    assert (records.used, records.repeated) == (1, 1)


def test_calls_come_in_the_order_of_their_start(tmp_path):
    spans = [
        span(number, start=1793534400 + second, attributes=keyed({**NAMES, "gen_ai.usage.input_tokens": number}))
        for number, second in ((1, 20), (2, 0), (3, 10))
    ]
    calls, _ = read(tmp_path, jsonl(*map(otlp, spans)))
    assert [call.usage.prompt_tokens for call in calls] == [2, 3, 1]


def test_members_in_another_order_make_no_other_body(tmp_path):
    turned = [dict(reversed(message.items())) for message in MESSAGES]
    bodies = [
        read(tmp_path, one({**NAMES, "gen_ai.input.messages": json.dumps(messages, indent=indent)}))[0][0].body
        for messages, indent in ((MESSAGES, None), (turned, 2))
    ]
    assert bodies[0] == bodies[1]


def test_a_span_with_an_error_and_one_with_nothing(tmp_path):
    failed = span(1, attributes=keyed(NAMES), status={"code": 2, "message": "429"})
    empty = span(2, attributes=keyed(NAMES))
    (call,), records = read(tmp_path, json.dumps(otlp(failed, empty)).encode())
    assert call.error == "429"
    assert records.skipped[0].reason == "span 'chat' has neither a prompt nor token counts"


def test_a_trace_that_is_cut_off_keeps_its_spans(tmp_path):
    document = json.dumps({**EXPORT, "spans": EXPORT["spans"] * 3}, indent=2).encode()
    calls, records = read(tmp_path, document[:-300])
    assert len(calls) == 2
    assert "cut off" in records.skipped[0].reason


def test_prompts_that_are_no_messages_are_not_read_as_some(tmp_path):
    odd = {**NAMES, **USAGE, "gen_ai.input.messages": json.dumps([{"role": 7, "content": {"a": 1}}, 3])}
    (call,), _ = read(tmp_path, one(odd))
    assert (call.body, call.usage.prompt_tokens) == (b"", 900)


CLAUDE = {**NAMES, "gen_ai.provider.name": "anthropic", "gen_ai.input.messages": json.dumps(MESSAGES), **USAGE}
READ, WRITTEN = "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_creation.input_tokens"


def test_a_span_does_not_hold_the_request(tmp_path):
    """Whether it had cache markers is not known, so its text stays and the call says so."""
    counts = [{READ: 0, WRITTEN: 0}, {READ: 0, WRITTEN: 800}, {READ: 800, WRITTEN: 90}, {READ: 0}, {}]
    spans = [span(number, attributes=keyed({**CLAUDE, **more})) for number, more in enumerate(counts)]
    calls, _ = read(tmp_path, json.dumps(otlp(*spans)).encode())
    assert [(bool(call.body), call.rebuilt) for call in calls] == [(True, True)] * 5


def test_brackets_that_a_damaged_span_leaves_behind(tmp_path):
    broken = json.dumps(EXPORT).replace('"start_time": "', '"', 1).encode() + b"]}}\n" + jsonl(CONSOLE)
    calls, records = read(tmp_path, broken, "otel")
    assert len(calls) <= 1
    assert records.damaged >= 1
