import json

import pytest

from hitrate.core.model import StreamEvent
from hitrate.core.prompt import Marker
from hitrate.errors import UsageError
from hitrate.targets.dialects.bedrock_converse import BedrockConverse

WIRE = BedrockConverse()
SYSTEM = {"role": "system", "content": "Be brief."}
ASKED = {"role": "user", "content": "Hi"}
TOOL = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}
POINT = {"cachePoint": {"type": "default"}}


def build(messages, **options):
    return json.loads(WIRE.build(**{"model": "m", "messages": messages, "markers": None, **options}))


def read(*events):
    return WIRE.read_stream([StreamEvent(i, i, json.dumps(event).encode()) for i, event in enumerate(events)])


def delta(value, index=0):
    return {"contentBlockDelta": {"delta": value, "contentBlockIndex": index}}


# --- requests ----------------------------------------------------------------------------------------------------


def test_a_request_as_bytes():
    body = WIRE.build(
        model="m",
        messages=[SYSTEM, ASKED],
        tools=[TOOL],
        max_tokens=5,
        temperature=0,
        extra={"inferenceConfig": {"topP": 1}, "additionalModelRequestFields": {"k": 1}},
    )
    assert body == (
        b'{"toolConfig":{"tools":[{"toolSpec":{"name":"f","description":"d",'
        b'"inputSchema":{"json":{"type":"object"}}}},{"cachePoint":{"type":"default"}}]},'
        b'"system":[{"text":"Be brief."},{"cachePoint":{"type":"default"}}],'
        b'"messages":[{"role":"user","content":[{"text":"Hi"},{"cachePoint":{"type":"default"}}]}],'
        b'"inferenceConfig":{"maxTokens":5,"temperature":0,"topP":1},"additionalModelRequestFields":{"k":1}}'
    )


@pytest.mark.parametrize(
    ("messages", "turns"),
    [
        (
            [
                ASKED,
                {
                    "role": "assistant",
                    "content": "I look.",
                    "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": '{"y":1}'}}],
                },
                {"role": "tool", "tool_call_id": "a", "content": "Ghent"},
                ASKED,
            ],
            [
                {"role": "user", "content": [{"text": "Hi"}]},
                {
                    "role": "assistant",
                    "content": [{"text": "I look."}, {"toolUse": {"toolUseId": "a", "name": "f", "input": {"y": 1}}}],
                },
                {
                    "role": "user",
                    "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": "Ghent"}]}}, {"text": "Hi"}],
                },
            ],
        ),
        (
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,aGk="}}]}],
            [{"role": "user", "content": [{"image": {"format": "jpeg", "source": {"bytes": "aGk="}}}]}],
        ),
    ],
    ids=["tool calls; the same role never twice", "image"],
)
def test_messages_of_the_chat_wire(messages, turns):
    assert build(messages)["messages"] == turns


def test_an_image_by_address():
    image = {"type": "image_url", "image_url": {"url": "https://a/b.png"}}
    with pytest.raises(UsageError, match=r"Bedrock takes images inline, not by address: https://a/b.png"):
        build([{"role": "user", "content": [image]}])


def test_markers():
    again = [SYSTEM, ASKED, {"role": "assistant", "content": "x"}, ASKED]
    body = build(again, tools=[TOOL], markers="1h")
    point = {"cachePoint": {"type": "default", "ttl": "1h"}}
    assert (body["toolConfig"]["tools"][-1], body["system"][-1]) == (point, point)
    assert [turn["content"][-1] == point for turn in body["messages"]] == [False, False, True]
    assert "cachePoint" not in json.dumps(build(again, tools=[TOOL]))
    own = [SYSTEM, {"role": "user", "content": [{"text": "Hi"}, POINT]}]
    assert json.dumps(build(own, markers="auto")).count("cachePoint") == 1


# --- replies -----------------------------------------------------------------------------------------------------

BLOCKS = [
    {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
    {"reasoningContent": {"redactedContent": "b3BhcXVl"}},
    {"text": "In Ghent."},
    {"toolUse": {"toolUseId": "t1", "name": "f", "input": {"b": 1}}},
]
STREAM = (
    {"messageStart": {"role": "assistant", "p": "abc"}},
    delta({"reasoningContent": {"text": "Hm"}}),
    delta({"reasoningContent": {"text": "."}}),
    delta({"reasoningContent": {"signature": "c2ln"}}),
    {"contentBlockStop": {"contentBlockIndex": 0}},
    delta({"reasoningContent": {"redactedContent": "b3BhcXVl"}}, 1),
    delta({"text": "In "}, 2),
    delta({"text": "Ghent."}, 2),
    {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "t1", "name": "f"}}, "contentBlockIndex": 3}},
    delta({"toolUse": {"input": ""}}, 3),
    delta({"toolUse": {"input": '{"b"'}}, 3),
    delta({"toolUse": {"input": ":1}"}}, 3),
    {"messageStop": {"stopReason": "tool_use"}},
    {"metadata": {"usage": {"inputTokens": 9}, "metrics": {"latencyMs": 5}}},
)


def test_a_stream():
    found = read(*STREAM)
    reply = found.reply
    assert reply.message == {"role": "assistant", "content": BLOCKS}
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("In Ghent.", "Hm.", "tool_use")
    assert reply.tool_calls == ({"id": "t1", "type": "function", "function": {"name": "f", "arguments": '{"b":1}'}},)
    assert found.token_events == (1, 2, 6, 7, 10, 11)
    assert (found.first_token, found.first_content) == (1, 6)
    assert (found.complete, found.fault, found.raw_usage) == (True, None, {"inputTokens": 9})
    assert reply.server_timings == {"latencyMs": 5}


def test_a_body_and_a_stream_give_the_same_message():
    body = {
        "output": {"message": {"role": "assistant", "content": BLOCKS}},
        "stopReason": "tool_use",
        "usage": {"inputTokens": 9},
        "metrics": {"latencyMs": 5},
    }
    found, streamed = WIRE.read_body(json.dumps(body).encode()), read(*STREAM)
    assert found.reply == streamed.reply
    assert (found.complete, found.token_events) == (True, ())


def test_a_reply_goes_back_as_it_came():
    message = read(*STREAM).reply.message
    assert build([ASKED, message, ASKED])["messages"][1] == {"role": "assistant", "content": BLOCKS}


def test_citations_stay_with_their_text():
    cited = read(delta({"text": "Ghent."}), delta({"citation": {"title": "T"}}), {"messageStop": {"stopReason": "x"}})
    assert cited.reply.message["content"] == [
        {"citationsContent": {"content": [{"text": "Ghent."}], "citations": [{"title": "T"}]}}
    ]
    assert cited.reply.text == "Ghent."


@pytest.mark.parametrize(
    ("last", "fault", "complete"),
    [
        ({}, None, False),
        ({"messageStop": {"stopReason": "end_turn"}}, None, True),
        (
            {"throttlingException": {"message": "Too many tokens"}},
            "event 2: the server gave up after status 200: Too many tokens (throttlingException)",
            False,
        ),
        ({"framingFault": {"message": "the event stream is damaged"}}, "the event stream is damaged", False),
        (
            {"error": {"code": "Internal", "message": "broken"}},
            "event 2: the server sent an error after status 200: broken (Internal)",
            False,
        ),
    ],
    ids=["cut off", "no metadata", "exception", "damage", "error"],
)
def test_streams_with_faults_keep_what_came(last, fault, complete):
    found = read(delta({"text": "Hi"}), last)
    assert (found.reply.text, found.fault, found.complete) == ("Hi", fault, complete)


def test_a_body_without_a_message():
    found = WIRE.read_body(b'{"message":"The provided model identifier is invalid."}')
    assert (found.reply, found.complete, found.fault) == (None, False, "the reply holds no message")


# --- the canonical prompt ----------------------------------------------------------------------------------------


def test_order_places_and_cache_points():
    body = {
        "messages": [
            {"role": "user", "content": [{"text": "Hi"}, POINT]},
            {"role": "assistant", "content": BLOCKS},
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "t1", "content": [{"text": "Ghent"}, {"json": {"b": 1}}]}},
                    {"cachePoint": {"type": "default", "ttl": "1h"}},
                    {"image": {"format": "png", "source": {"bytes": "aGk="}}},
                ],
            },
        ],
        "system": [{"text": "Be brief."}, POINT],
        "toolConfig": {"tools": [{"toolSpec": {"name": "f"}}, POINT]},
    }
    found = WIRE.canonical(json.dumps(body).encode())
    assert [(segment.kind, segment.pointer, segment.text) for segment in found.segments] == [
        ("tools", "/toolConfig/tools/0/toolSpec", '{"name":"f"}'),
        ("system", "/system/0/text", "Be brief."),
        ("user", "/messages/0/content/0/text", "Hi"),
        ("assistant", "/messages/1/content/0/reasoningContent/reasoningText/text", "Hm."),
        ("assistant", "/messages/1/content/1/reasoningContent/redactedContent", "b3BhcXVl"),
        ("assistant", "/messages/1/content/2/text", "In Ghent."),
        ("assistant", "/messages/1/content/3/toolUse/toolUseId", "t1"),
        ("assistant", "/messages/1/content/3/toolUse/name", "f"),
        ("assistant", "/messages/1/content/3/toolUse/input", '{"b":1}'),
        ("tool", "/messages/2/content/0/toolResult/toolUseId", "t1"),
        ("tool", "/messages/2/content/0/toolResult/content/0/text", "Ghent"),
        ("tool", "/messages/2/content/0/toolResult/content/1/json", '{"b":1}'),
        (
            "image",
            "/messages/2/content/2/image/source/bytes",
            "sha256:96e3186af2815065fbc894de1bdadda7830527fffdba6bdd709789cf0ee79a6a",
        ),
    ]
    assert found.markers == (
        Marker("/toolConfig/tools/1/cachePoint", 0),
        Marker("/system/1/cachePoint", 1),
        Marker("/messages/0/content/1/cachePoint", 2),
        Marker("/messages/2/content/1/cachePoint", 11, "1h"),
    )
    assert found.namespace == ("",)
