import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.core import spans
from hitrate.core.prompt import Marker
from hitrate.targets.dialects.openai_chat import OpenAIChat

TOOL = {"type": "function", "function": {"name": "find", "parameters": {"b": 1, "a": "é"}}}
PNG = "data:image/png;base64," + "A" * 600


def canonical(**members):
    return OpenAIChat().canonical(json.dumps({"model": "m", "messages": [], **members}).encode())


def rows(prompt):
    return [(segment.kind, segment.pointer, segment.text) for segment in prompt.segments]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"role": "user", "content": "hi"}, [("user", "/content", "hi")]),
        ({"role": "developer", "content": "be brief"}, [("system", "/content", "be brief")]),
        ({"role": "user", "content": ""}, [("user", "/content", "")]),
        ({"role": "user", "content": []}, [("user", "", "")]),
        ({"role": "critic", "content": "no"}, [("user", "/content", "no")]),
        ({"content": "no role"}, [("user", "/content", "no role")]),
        ({"role": "user", "name": "Ann", "content": "hi"}, [("user", "/name", "Ann"), ("user", "/content", "hi")]),
        (
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, "c"]},
            [("user", "/content/0/text", "a"), ("user", "/content/1/text", "b"), ("user", "/content/2", "c")],
        ),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]},
            [("image", "/content/0/image_url", "https://x/y.png")],
        ),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": PNG, "detail": "low"}}]},
            [("image", "/content/0/image_url", f"sha256:{hashlib.sha256(PNG.encode()).hexdigest()} detail=low")],
        ),
        (
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}}]},
            [("image", "/content/0/input_audio", '{"data":"UklG","format":"wav"}')],
        ),
        (
            {"role": "user", "content": [{"type": "novel", "x": 1}]},
            [("user", "/content/0", '{"type":"novel","x":1}')],
        ),
        (
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "a"}'}},
                    {"id": "c2", "type": "function", "function": {"name": "stop", "arguments": {"now": True}}},
                ],
            },
            [
                ("assistant", "/tool_calls/0/id", "c1"),
                ("assistant", "/tool_calls/0/function/name", "find"),
                ("assistant", "/tool_calls/0/function/arguments", '{"q": "a"}'),
                ("assistant", "/tool_calls/1/id", "c2"),
                ("assistant", "/tool_calls/1/function/name", "stop"),
                ("assistant", "/tool_calls/1/function/arguments", '{"now":true}'),
            ],
        ),
        (
            {"role": "assistant", "content": "so", "reasoning_content": "think", "tool_calls": None},
            [("assistant", "/reasoning_content", "think"), ("assistant", "/content", "so")],
        ),
        (
            {"role": "assistant", "reasoning": "r", "reasoning_details": [{"text": "r"}], "content": "so"},
            [("assistant", "/reasoning", "r"), ("assistant", "/content", "so")],
        ),
        (
            {"role": "assistant", "reasoning_details": [{"text": "r"}], "content": "so"},
            [("assistant", "/reasoning_details", '[{"text":"r"}]'), ("assistant", "/content", "so")],
        ),
        (
            {"role": "assistant", "function_call": {"name": "find", "arguments": "{}"}},
            [("assistant", "/function_call/name", "find"), ("assistant", "/function_call/arguments", "{}")],
        ),
        (
            {"role": "assistant", "tool_calls": [{"type": "custom", "custom": {"input": "x"}}]},
            [("assistant", "/tool_calls/0", '{"type":"custom","custom":{"input":"x"}}')],
        ),
        ({"role": "assistant", "content": None}, [("assistant", "", "")]),
        ({"role": "assistant", "content": None, "refusal": "no"}, [("assistant", "/refusal", "no")]),
        (
            {"role": "tool", "tool_call_id": "c1", "content": "12"},
            [("tool", "/tool_call_id", "c1"), ("tool", "/content", "12")],
        ),
        (
            {"role": "function", "name": "find", "content": "12"},
            [("tool", "/name", "find"), ("tool", "/content", "12")],
        ),
    ],
)
def test_segments_of_a_message(message, expected):
    prompt = canonical(messages=[message])
    assert rows(prompt) == [(kind, "/messages/0" + pointer, text) for kind, pointer, text in expected]


def test_order_is_tools_schema_messages_whatever_the_body_order():
    body = {
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"z": 1, "a": 2}}},
        "tools": [TOOL],
    }
    assert rows(OpenAIChat().canonical(json.dumps(body).encode())) == [
        ("tools", "/tools/0", '{"type":"function","function":{"name":"find","parameters":{"b":1,"a":"é"}}}'),
        ("schema", "/response_format/json_schema", '{"name":"n","schema":{"z":1,"a":2}}'),
        ("system", "/messages/0/content", "s"),
        ("user", "/messages/1/content", "u"),
    ]


@pytest.mark.parametrize("kind", ["text", "json_object"])
def test_response_formats_without_a_schema_are_no_text(kind):
    assert canonical(response_format={"type": kind}).segments == ()


@pytest.mark.parametrize(
    ("members", "namespace", "affinity"),
    [
        ({}, ("m",), None),
        ({"model": None}, ("",), None),
        ({"cache_salt": "s"}, ("m", "cache_salt=s"), None),
        ({"prompt_cache_isolation_key": "k", "user": "u"}, ("m", "prompt_cache_isolation_key=k"), "u"),
        ({"session_id": "c", "user": "u", "prompt_cache_key": "p"}, ("m",), "p"),
        ({"session_id": "c", "user": "", "prompt_cache_key": None}, ("m",), "c"),
    ],
)
def test_namespace_and_affinity(members, namespace, affinity):
    prompt = canonical(**members)
    assert (prompt.namespace, prompt.affinity) == (namespace, affinity)


def test_markers_are_places_not_text():
    cached = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    point = {"prompt_cache_breakpoint": {"mode": "explicit"}}
    parts = [{"type": "text", "text": "a", **point}, {"type": "text", "text": "b"}]
    plain = canonical(tools=[TOOL], messages=[{"role": "user", "content": [{"type": "text", "text": "a"}, parts[1]]}])
    marked = canonical(
        tools=[{**TOOL, **cached}],
        messages=[{"role": "user", "content": parts, "cache_control": None}],
        cache_control={"type": "ephemeral"},
    )
    assert rows(marked) == rows(plain)
    assert marked.markers == (
        Marker("/tools/0/cache_control", 0, "1h"),
        Marker("/messages/0/content/0/prompt_cache_breakpoint", 1, None),
        Marker("/cache_control", 2, None),
    )


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", "Expecting value: line 1 column 1"),
        (b"[]", "not a JSON object"),
        (b"{}", "/messages: expected an array"),
        (b'{"messages": "hi"}', "/messages: expected an array"),
        (b'{"messages": [1]}', "/messages/0: expected a message object, found 1"),
        (b'{"messages": [', "line 1 column"),
        (b'{"messages": "\xff"}', "not UTF-8 at byte 14"),
    ],
)
def test_bodies_that_cannot_be_read(body, fault):
    with pytest.raises(ValueError, match=fault) as caught:
        OpenAIChat().canonical(body)
    assert "\n" not in str(caught.value)


def test_odd_shapes_are_read_as_far_as_they_go():
    body = b'\xef\xbb\xbf{"tools": "none", "messages": [{"role": 3, "content": 7, "tool_calls": ["x"]}], "user": 4}'
    prompt = OpenAIChat().canonical(body)
    assert rows(prompt) == [("user", "/messages/0/content", "7"), ("user", "/messages/0/tool_calls/0", "x")]
    assert prompt.affinity is None


texts = st.text(max_size=12)
parts = st.one_of(
    texts.map(lambda text: {"type": "text", "text": text}),
    texts.map(lambda text: {"type": "image_url", "image_url": {"url": text}}),
    texts.map(lambda text: {"type": text}),
)
calls = st.builds(lambda name, arguments: {"function": {"name": name, "arguments": arguments}}, texts, texts)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool", "other"])},
    optional={
        "content": st.none() | texts | st.lists(parts, max_size=3),
        "reasoning_content": texts,
        "tool_calls": st.lists(calls, max_size=2),
        "name": texts,
    },
)
bodies = st.fixed_dictionaries(
    {"messages": st.lists(messages, max_size=4)},
    optional={
        "model": texts,
        "tools": st.lists(st.dictionaries(texts, texts, max_size=3), max_size=2),
        "user": texts,
        "response_format": st.just({"type": "json_schema", "json_schema": {"a": 1}}),
    },
)


@given(body=bodies, indent=st.sampled_from([None, 2]), ascii_only=st.booleans(), mark=st.booleans())
def test_every_span_decodes_to_the_value_its_pointer_names(body, indent, ascii_only, mark):
    text = "\ufeff" * mark + json.dumps(body, indent=indent, ensure_ascii=ascii_only)
    for segment in OpenAIChat().canonical(text.encode()).segments:
        value = spans.resolve(body, segment.pointer)
        assert json.loads(text[segment.start : segment.end]) == value
        if isinstance(value, str) and segment.kind != "image":
            assert segment.text == value


@given(body=bodies)
def test_white_space_and_escapes_change_places_but_not_the_prompt(body):
    compact = OpenAIChat().canonical(json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode())
    spread = OpenAIChat().canonical(json.dumps(body, indent=3).encode())
    assert rows(compact) == rows(spread)
    assert (compact.namespace, compact.affinity) == (spread.namespace, spread.affinity)
