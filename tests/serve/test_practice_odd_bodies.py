"""Bodies with anything anywhere: answered or refused, never a failure of the server."""

from __future__ import annotations

import json
from random import Random
from urllib.parse import urlsplit

import pytest
from practice_fakes import Caller, exchange, options_as, serving_options

from hitrate.serve.practice.reading import TOO_DEEP, json_object
from hitrate.serve.practice.wire import Refused

MARK = {"cache_control": {"type": "ephemeral", "ttl": "5m"}}
SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}}}

CHAT = {
    "model": "M",
    "messages": [
        {"role": "system", "content": [{"type": "text", "text": "a", **MARK}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "b"},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}],
    "tool_choice": {"type": "function", "function": {"name": "f"}},
    "stream_options": {"include_usage": True},
    "prompt_cache_options": {"mode": "implicit", "ttl": "30m"},
    "stop": ["x"],
    "id_slot": 0,
}
RESPONSES = {
    "model": "M",
    "instructions": "a",
    "input": [
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "b", "prompt_cache_breakpoint": {"mode": "explicit"}}],
        },
        {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "c"}]},
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "d"},
    ],
    "tools": [{"type": "function", "name": "f", "parameters": SCHEMA}],
    "tool_choice": {"type": "function", "name": "f"},
    "prompt_cache_options": {"mode": "implicit", "ttl": "30m"},
    "text": {"format": {"type": "json_schema", "schema": SCHEMA}},
    "max_output_tokens": 5,
}
MESSAGES = {
    "model": "M",
    "max_tokens": 5,
    "system": [{"type": "text", "text": "a", **MARK}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "b", **MARK}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "c"}]}],
        },
    ],
    "tools": [{"name": "f", "input_schema": SCHEMA, **MARK}],
    "tool_choice": {"type": "tool", "name": "f"},
    "stop_sequences": ["x"],
    **MARK,
}
GEMINI = {
    "contents": [
        {"role": "user", "parts": [{"text": "a"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "b"}}}]},
    ],
    "systemInstruction": {"parts": [{"text": "c"}]},
    "tools": [{"functionDeclarations": [{"name": "f", "parameters": SCHEMA}]}],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
    "generationConfig": {"maxOutputTokens": 5, "stopSequences": ["x"]},
}
CONVERSE = {
    "system": [{"text": "a"}, {"cachePoint": {"type": "default", "ttl": "5m"}}],
    "messages": [
        {"role": "user", "content": [{"text": "b"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "f", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": [{"text": "c"}, {"json": {}}]}}]},
    ],
    "toolConfig": {
        "tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": SCHEMA}}}, {"cachePoint": {"type": "default"}}],
        "toolChoice": {"tool": {"name": "f"}},
    },
    "inferenceConfig": {"maxTokens": 5, "stopSequences": ["x"]},
}
COMPLETION = {"prompt": ["a", 1, 2], "n_predict": 5, "stop": ["x"], "cache_prompt": True, "id_slot": 0}

JUNK = (
    None,
    True,
    0,
    -1,
    2.5,
    "",
    "x",
    "\ud800",
    [],
    [[]],
    [None],
    ["x", 1],
    {},
    {"type": 1},
    {"text": None},
    [{}],
    10**30,
)


def places(value, place=()):
    yield place
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in members:
        yield from places(inner, (*place, name))


def changed(body, place, junk):
    if not place:
        return junk
    copy = dict(body) if isinstance(body, dict) else list(body)
    copy[place[0]] = changed(body[place[0]], place[1:], junk)
    return copy


WIRES = [
    ("openai", "/v1/chat/completions", CHAT),
    ("openrouter", "/v1/chat/completions", CHAT),
    ("llamacpp", "/v1/chat/completions", CHAT),
    ("openai", "/v1/responses", RESPONSES),
    ("anthropic", "/v1/messages", MESSAGES),
    ("gemini", "/v1beta/models/M:generateContent", GEMINI),
    ("bedrock", "/model/M/converse-stream", CONVERSE),
    ("llamacpp", "/completion", COMPLETION),
]


@pytest.mark.parametrize(("name", "path", "body"), WIRES)
def test_junk_anywhere(name, path, body):
    options = options_as(name, minimum_tokens=0) if name != "llamacpp" else options_as(name)
    model = options.models[0].name
    body = {**body, "model": model} if "model" in body else body
    random = Random(name + path)
    every = [(place, junk) for place in places(body) for junk in JUNK]
    answered = 0
    caller = Caller(options)
    tried = random.sample(every, min(200, len(every)))
    for place, junk in tried:
        sent = json.dumps(changed(body, place, junk)).encode()
        try:
            caller.send(path.replace("M", model), sent, {"anthropic-version": "x"})
            answered += 1
        except Refused as refused:
            assert 400 <= refused.status < 500 and refused.message
    assert answered > len(tried) / 5


@pytest.mark.parametrize(("name", "path"), [wire[:2] for wire in WIRES])
def test_a_body_without_a_bottom_is_refused_in_the_shape_of_the_wire(name, path):
    options = options_as(name)
    path = path.replace("M", options.models[0].name)
    headers = "authorization: Bearer any\r\nx-api-key: any\r\nx-goog-api-key: any\r\n"
    with serving_options(options) as base_url:
        for opened in (b"[", b'{"properties":'):
            status, _, said, whole = exchange(urlsplit(base_url).port, opened * 100_000, path=path, headers=headers)
            assert (status, whole) == (400, True)
            told = json.loads(said)
            assert (told["message"] if name == "bedrock" else told["error"]["message"]) == TOO_DEEP


def test_a_schema_that_can_be_decoded_but_not_walked_is_refused():
    caller = Caller(options_as("gemini"))
    schema = '{"properties":{"a":' * 300 + "1" + "}}" * 300
    tools = [{"functionDeclarations": [{"name": "f", "parameters": "SCHEMA"}]}]
    body = json.dumps({**GEMINI, "tools": tools}).replace('"SCHEMA"', schema).encode()
    with pytest.raises(Refused, match=TOO_DEEP):
        caller.send(f"/v1beta/models/{caller.service.options.models[0].name}:generateContent", body)


def test_arguments_without_a_bottom_are_those_of_a_call_that_was_cut_off():
    assert json_object("[" * 100_000) == {}
