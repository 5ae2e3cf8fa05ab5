import json

import pytest

from hitrate.core.model import StreamEvent
from hitrate.core.prompt import Marker
from hitrate.targets.dialects.anthropic_messages import AnthropicMessages

WIRE = AnthropicMessages()
SYSTEM = {"role": "system", "content": "Be brief."}
ASKED = {"role": "user", "content": "Hi"}
TOOL = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}
MARK = {"type": "ephemeral"}


def build(messages, **options):
    return json.loads(WIRE.build(**{"model": "m", "messages": messages, "markers": None, **options}))


def read(*events):
    return WIRE.read_stream([StreamEvent(i, i, json.dumps(event).encode()) for i, event in enumerate(events)])


def start(block, index=0):
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(kind, member, piece, index=0):
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, member: piece}}


def text(piece, index=0):
    return delta("text_delta", "text", piece, index)


OPENED = {"type": "message_start", "message": {"id": "msg_1", "model": "claude-x", "usage": {"input_tokens": 3}}}
STOPPED = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}}
END = {"type": "message_stop"}


# --- requests ----------------------------------------------------------------------------------------------------


def test_a_request_as_bytes():
    body = WIRE.build(model="m", messages=[SYSTEM, ASKED], tools=[TOOL], max_tokens=5, temperature=0.5, markers=None)
    assert body == (
        b'{"model":"m","tools":[{"name":"f","description":"d","input_schema":{"type":"object"}}],'
        b'"system":[{"type":"text","text":"Be brief."}],'
        b'"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}],'
        b'"stream":true,"max_tokens":5,"temperature":0.5}'
    )


def test_the_limit_the_wire_wants():
    assert build([ASKED])["max_tokens"] == 4096
    assert build([ASKED], extra={"max_tokens": 9})["max_tokens"] == 9


@pytest.mark.parametrize(
    ("messages", "turns"),
    [
        (
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a/b.png"}}]}],
            [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://a/b.png"}}]}],
        ),
        (
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/gif;base64,aGk="}}]}],
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "aGk="}}
                    ],
                }
            ],
        ),
        (
            [
                {
                    "role": "assistant",
                    "content": "I look.",
                    "tool_calls": [
                        {"id": "a", "function": {"name": "f", "arguments": '{"y":1,"x":2}'}},
                        {"id": "b", "function": {"name": "f", "arguments": "not JSON"}},
                        {"id": "c", "function": {"name": "f", "arguments": ""}},
                    ],
                },
                {"role": "tool", "tool_call_id": "a", "content": "1"},
                {"role": "tool", "tool_call_id": "b", "content": "2"},
            ],
            [
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "I look."},
                        {"type": "tool_use", "id": "a", "name": "f", "input": {"y": 1, "x": 2}},
                        {"type": "tool_use", "id": "b", "name": "f", "input": {"arguments": "not JSON"}},
                        {"type": "tool_use", "id": "c", "name": "f", "input": {}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "a", "content": "1"},
                        {"type": "tool_result", "tool_use_id": "b", "content": "2"},
                    ],
                },
            ],
        ),
        (
            [ASKED, {"role": "developer", "content": "From now on in French."}],
            [
                {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
                {"role": "system", "content": [{"type": "text", "text": "From now on in French."}]},
            ],
        ),
        ([{"role": "assistant", "content": ""}, {"role": "assistant", "content": []}], []),
    ],
    ids=["image by address", "image inline", "tool calls", "instructions on the way", "empty replies are left out"],
)
def test_messages_of_the_chat_wire(messages, turns):
    assert build(messages)["messages"] == turns


def test_markers_on_tools_system_and_the_last_question():
    tool_result = {"role": "tool", "tool_call_id": "a", "content": "1"}
    body = build(
        [SYSTEM, ASKED, {"role": "assistant", "content": "x"}, tool_result], tools=[TOOL, TOOL], markers="auto"
    )
    assert [tool.get("cache_control") for tool in body["tools"]] == [None, MARK]
    assert body["system"][-1]["cache_control"] == MARK
    assert "cache_control" not in body["messages"][0]["content"][0]
    assert body["messages"][-1]["content"][-1]["cache_control"] == MARK
    assert build([SYSTEM, ASKED], markers="1h")["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


@pytest.mark.parametrize(
    "options",
    [
        {"messages": [SYSTEM, ASKED], "markers": None},
        {"messages": [SYSTEM, {"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": MARK}]}]},
    ],
    ids=["none asked for", "the caller's own stand alone"],
)
def test_no_markers_are_added(options):
    body = WIRE.build(model="m", **options)
    assert body.count(b"cache_control") == str(options["messages"]).count("cache_control")


# --- replies -----------------------------------------------------------------------------------------------------

BLOCKS = [
    {"type": "thinking", "thinking": "Hm, so.", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "b3BhcXVl"},
    {"type": "text", "text": "In Ghent."},
    {"type": "tool_use", "id": "t1", "name": "f", "input": {"b": 1, "a": "é"}},
]
STREAM = (
    OPENED,
    start({"type": "thinking", "thinking": "", "signature": ""}),
    {"type": "ping"},
    delta("thinking_delta", "thinking", "Hm, "),
    delta("thinking_delta", "thinking", "so."),
    delta("signature_delta", "signature", "c2ln"),
    {"type": "content_block_stop", "index": 0},
    start(BLOCKS[1], 1),
    start({"type": "text", "text": ""}, 2),
    text("In ", 2),
    text("Ghent.", 2),
    start({"type": "tool_use", "id": "t1", "name": "f", "input": {}}, 3),
    delta("input_json_delta", "partial_json", "", 3),
    delta("input_json_delta", "partial_json", '{"b": 1, "a"', 3),
    delta("input_json_delta", "partial_json", ': "é"}', 3),
    STOPPED,
    END,
)


def test_a_stream():
    found = read(*STREAM)
    reply = found.reply
    assert reply.message == {"role": "assistant", "content": BLOCKS}
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("In Ghent.", "Hm, so.", "end_turn")
    assert (reply.model, reply.response_id) == ("claude-x", "msg_1")
    assert reply.tool_calls == (
        {"id": "t1", "type": "function", "function": {"name": "f", "arguments": '{"b": 1, "a": "é"}'}},
    )
    assert found.token_events == (3, 4, 9, 10, 13, 14)
    assert (found.first_token, found.first_content) == (3, 9)
    assert (found.complete, found.fault) == (True, None)
    assert found.raw_usage == {"input_tokens": 3, "output_tokens": 7}


def test_a_body_and_a_stream_give_the_same_message():
    body = {"type": "message", "id": "msg_1", "role": "assistant", "content": BLOCKS, "stop_reason": "end_turn"}
    found = WIRE.read_body(json.dumps(body).encode())
    assert found.reply.message == read(*STREAM).reply.message
    assert (found.complete, found.first_token, found.token_events) == (True, None, ())


def test_a_reply_goes_back_as_it_came():
    message = read(*STREAM).reply.message
    assert build([ASKED, message, ASKED])["messages"][1] == {"role": "assistant", "content": BLOCKS}


@pytest.mark.parametrize(
    ("events", "said", "fault", "complete"),
    [
        ((OPENED, text("Hi")), "Hi", None, False),
        ((OPENED, text("Hi"), STOPPED), "Hi", None, True),
        ((text("Hi"), END), "Hi", None, True),
        (
            (OPENED, text("Hi"), {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            "Hi",
            "event 3: the server sent an error after status 200: Overloaded (overloaded_error)",
            False,
        ),
        ((OPENED, text("Hi"), ["x"], STOPPED), "Hi", "event 3 is not a JSON object (list)", True),
        ((OPENED, start({"type": "text", "text": "Hi"}), STOPPED), "Hi", None, True),
        ((OPENED, text("\ud83d"), text("\ude00"), STOPPED), "\U0001f600", None, True),
    ],
    ids=["cut off", "without its end", "without its start", "error", "no object", "text in the opening", "half a pair"],
)
def test_streams_with_faults_keep_what_came(events, said, fault, complete):
    found = read(*events)
    assert (found.reply.text, found.fault, found.complete) == (said, fault, complete)
    assert found.first_token is not None


def test_a_tool_call_that_is_cut_off_keeps_its_text():
    tool = start({"type": "tool_use", "id": "t1", "name": "f", "input": {}})
    found = read(OPENED, tool, delta("input_json_delta", "partial_json", '{"path": "/a'))
    assert found.reply.message["content"][0]["input"] == {}
    assert found.reply.tool_calls[0]["function"]["arguments"] == '{"path": "/a'


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"<html>", "the reply is malformed JSON (Expecting value: line 1 column 1 (char 0))"),
        (
            b'{"type":"error","error":{"type":"not_found_error","message":"model: x"}}',
            "the server answered with an error: model: x (not_found_error)",
        ),
        (b'{"id":"msg_1"}', "the reply holds no message"),
    ],
)
def test_bodies_that_hold_no_reply(body, fault):
    found = WIRE.read_body(body)
    assert (found.reply, found.complete, found.fault) == (None, False, fault)


# --- the canonical prompt ----------------------------------------------------------------------------------------


def test_order_places_and_markers():
    body = {
        "model": "claude-x",
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": BLOCKS},
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "content": [{"type": "text", "text": "Ghent"}],
                        "cache_control": {"type": "ephemeral", "ttl": "1h"},
                    },
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
                    {"type": "document", "source": {"type": "text", "data": "A page."}, "title": "T"},
                ],
            },
        ],
        "system": [{"type": "text", "text": "Be brief.", "cache_control": MARK}],
        "tools": [{"cache_control": MARK, "name": "f", "input_schema": {"b": 1, "a": 2}}],
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
        "cache_salt": "s",
    }
    found = WIRE.canonical(json.dumps(body).encode())
    assert [(segment.kind, segment.pointer, segment.text) for segment in found.segments] == [
        ("tools", "/tools/0", '{"name":"f","input_schema":{"b":1,"a":2}}'),
        ("schema", "/output_config/format/schema", '{"type":"object"}'),
        ("system", "/system/0/text", "Be brief."),
        ("user", "/messages/0/content", "Hi"),
        ("assistant", "/messages/1/content/0/thinking", "Hm, so."),
        ("assistant", "/messages/1/content/1/data", "b3BhcXVl"),
        ("assistant", "/messages/1/content/2/text", "In Ghent."),
        ("assistant", "/messages/1/content/3/id", "t1"),
        ("assistant", "/messages/1/content/3/name", "f"),
        ("assistant", "/messages/1/content/3/input", '{"b":1,"a":"é"}'),
        ("tool", "/messages/2/content/0/tool_use_id", "t1"),
        ("tool", "/messages/2/content/0/content/0/text", "Ghent"),
        (
            "image",
            "/messages/2/content/1/source/data",
            "sha256:96e3186af2815065fbc894de1bdadda7830527fffdba6bdd709789cf0ee79a6a",
        ),
        ("user", "/messages/2/content/2/title", "T"),
        ("user", "/messages/2/content/2/source/data", "A page."),
    ]
    assert found.markers == (
        Marker("/tools/0/cache_control", 0),
        Marker("/system/0/cache_control", 2),
        Marker("/messages/2/content/0/cache_control", 11, "1h"),
    )
    assert found.namespace == ("claude-x", "cache_salt=s")


def test_a_moving_marker_and_a_string_for_one_text_block_change_nothing():
    plain = {"messages": [{"role": "user", "content": "Hi"}]}
    marked = {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": MARK}]}]}
    texts = [[one.text for one in WIRE.canonical(json.dumps(body).encode()).segments] for body in (plain, marked)]
    assert texts == [["Hi"], ["Hi"]]


def test_a_marker_for_the_whole_request_stands_on_the_last_block():
    body = {"messages": [{"role": "user", "content": "Hi"}], "cache_control": MARK}
    assert WIRE.canonical(json.dumps(body).encode()).markers == (Marker("/cache_control", 0),)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"[]", "the request body is not a JSON object"),
        (b'{"messages":"Hi"}', r'/messages: expected an array, as in {"model": ..., "messages": [...]}'),
        (b'{"messages":["Hi"]}', '/messages/0: expected a message object, found "Hi"'),
    ],
)
def test_bodies_that_cannot_be_read(body, error):
    with pytest.raises(ValueError) as raised:
        WIRE.canonical(body)
    assert str(raised.value) == error
