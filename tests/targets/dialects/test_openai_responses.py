import json

import pytest

from hitrate.core.model import StreamEvent
from hitrate.core.prompt import Marker
from hitrate.targets.dialects.openai_responses import OpenAIResponses

WIRE = OpenAIResponses()
ASKED = {"role": "user", "content": "Hi"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
ENCRYPTED = {**REASONING, "encrypted_content": "b3BhcXVl"}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "In Ghent.", "annotations": []}],
}
CALLED = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": '{"b": 1}'}
OUTPUT = [REASONING, SAID, CALLED]


def build(messages, **options):
    return json.loads(WIRE.build(**{"model": "m", "messages": messages, **options}))


def read(*events):
    return WIRE.read_stream([StreamEvent(i, i, json.dumps(event).encode()) for i, event in enumerate(events)])


def delta(kind, piece, index=0, **more):
    return {"type": f"response.{kind}.delta", "output_index": index, "delta": piece, **more}


def item(kind, value, index=0):
    return {"type": f"response.output_item.{kind}", "output_index": index, "item": value}


def ended(kind="completed", **members):
    return {"type": f"response.{kind}", "response": {"id": "resp_1", "status": kind, **members}}


CREATED = {"type": "response.created", "response": {"id": "resp_1", "model": "m-1", "status": "in_progress"}}


def test_a_request_as_bytes():
    body = WIRE.build(
        model="m",
        messages=[{"role": "system", "content": "Be brief."}, {"role": "developer", "content": "In French."}, ASKED],
        tools=[{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}, "strict": True}}],
        max_tokens=5,
        temperature=0,
    )
    assert body == (
        b'{"model":"m","tools":[{"type":"function","name":"f","parameters":{"type":"object"},"strict":true}],'
        b'"instructions":"Be brief.",'
        b'"input":[{"role":"developer","content":"In French."},{"role":"user","content":"Hi"}],'
        b'"stream":true,"max_output_tokens":5,"temperature":0}'
    )


@pytest.mark.parametrize(
    ("messages", "items"),
    [
        (
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Look"},
                        {"type": "image_url", "image_url": {"url": "https://a/b.png", "detail": "low"}},
                    ],
                }
            ],
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "Look"},
                        {"type": "input_image", "image_url": "https://a/b.png", "detail": "low"},
                    ],
                }
            ],
        ),
        (
            [
                {
                    "role": "assistant",
                    "content": "I look.",
                    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{ }"}}],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "Ghent"},
            ],
            [
                {"role": "assistant", "content": "I look."},
                {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{ }"},
                {"type": "function_call_output", "call_id": "c1", "output": "Ghent"},
            ],
        ),
        ([{"role": "assistant", "output": OUTPUT}, ASKED], [*OUTPUT, ASKED]),
    ],
    ids=["image", "tool calls", "a reply of this wire goes back as it came"],
)
def test_messages_become_items(messages, items):
    assert build(messages)["input"] == items


def test_reasoning_that_the_server_did_not_keep():
    reply = {"role": "assistant", "output": [REASONING, ENCRYPTED, SAID]}
    assert build([reply], extra={"store": False})["input"] == [ENCRYPTED, SAID]
    assert build([reply], extra={"store": True})["input"] == [REASONING, ENCRYPTED, SAID]


# --- replies -----------------------------------------------------------------------------------------------------

STREAM = (
    CREATED,
    {"type": "response.in_progress", "response": {"id": "resp_1"}},
    item("added", {"type": "reasoning", "id": "rs_1", "summary": []}),
    delta("reasoning_summary_text", "Hm", summary_index=0),
    delta("reasoning_summary_text", ".", summary_index=0),
    item("done", REASONING),
    item("added", {"type": "message", "id": "msg_1", "role": "assistant", "content": []}, 1),
    {"type": "response.content_part.added", "output_index": 1, "part": {"type": "output_text", "text": ""}},
    delta("output_text", "In ", 1, content_index=0),
    delta("output_text", "Ghent.", 1, content_index=0),
    {"type": "response.output_text.done", "output_index": 1, "text": "In Ghent."},
    item("done", SAID, 1),
    item("added", {**CALLED, "arguments": ""}, 2),
    delta("function_call_arguments", '{"b"', 2),
    delta("function_call_arguments", ": 1}", 2),
    item("done", CALLED, 2),
)


def test_a_stream():
    found = read(*STREAM, ended(output=OUTPUT, usage={"input_tokens": 9}))
    reply = found.reply
    assert reply.message == {"role": "assistant", "output": OUTPUT}
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("In Ghent.", "Hm.", "completed")
    assert (reply.model, reply.response_id) == ("m-1", "resp_1")
    assert reply.tool_calls == ({"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"b": 1}'}},)
    assert found.token_events == (3, 4, 8, 9, 13, 14)
    assert (found.first_token, found.first_content) == (3, 8)
    assert (found.complete, found.fault, found.raw_usage) == (True, None, {"input_tokens": 9})


@pytest.mark.parametrize("end", [ended(), ended(output=[])], ids=["no output", "empty output"])
def test_a_finished_response_that_does_not_repeat_its_items(end):
    assert read(*STREAM, end).reply.message == {"role": "assistant", "output": OUTPUT}


def test_a_body():
    body = {"id": "resp_1", "model": "m-1", "status": "completed", "output": OUTPUT, "error": None}
    found = WIRE.read_body(json.dumps(body).encode())
    assert found.reply.message == {"role": "assistant", "output": OUTPUT}
    assert (found.reply.text, found.complete, found.fault, found.first_token) == ("In Ghent.", True, None, None)


@pytest.mark.parametrize(
    ("events", "output", "fault", "complete", "reason"),
    [
        (
            STREAM[:9],
            [
                REASONING,
                {
                    "type": "message",
                    "id": "msg_1",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "In "}],
                },
            ],
            None,
            False,
            None,
        ),
        (
            STREAM[:14],
            [REASONING, SAID, {**CALLED, "arguments": '{"b"'}],
            None,
            False,
            None,
        ),
        (
            (delta("reasoning_text", "Hm", content_index=0), delta("output_text", "Hi", 1, content_index=0)),
            [
                {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm"}]},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]},
            ],
            None,
            False,
            None,
        ),
        (
            (*STREAM[:12], ended("incomplete", incomplete_details={"reason": "max_output_tokens"})),
            [REASONING, SAID],
            None,
            True,
            "max_output_tokens",
        ),
        (
            (*STREAM[:12], ended("failed", error={"code": "server_error", "message": "Something broke"})),
            [REASONING, SAID],
            "event 13: the server gave up after status 200: Something broke (server_error)",
            False,
            "failed",
        ),
        (
            (*STREAM[:12], {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down"}),
            [REASONING, SAID],
            "event 13: the server sent an error after status 200: Slow down (rate_limit_exceeded)",
            False,
            None,
        ),
    ],
    ids=["cut off in text", "cut off in a call", "no opening events", "incomplete", "failed", "error event"],
)
def test_streams_that_end_early_keep_what_came(events, output, fault, complete, reason):
    found = read(*events)
    assert found.reply.message == {"role": "assistant", "output": output}
    assert (found.fault, found.complete, found.reply.finish_reason) == (fault, complete, reason)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"error": {"message": "no such model"}}, "the server answered with an error: no such model"),
        ({"status": "completed", "output": []}, "the reply holds no message"),
    ],
)
def test_bodies_that_hold_no_reply(body, fault):
    found = WIRE.read_body(json.dumps(body).encode())
    assert (found.reply, found.complete, found.fault) == (None, False, fault)


# --- the canonical prompt ----------------------------------------------------------------------------------------


def test_order_places_and_markers():
    body = {
        "model": "gpt-5.6",
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "Hi", "prompt_cache_breakpoint": {"mode": "explicit"}},
                    {"type": "input_image", "image_url": "https://a/b.png", "detail": "low"},
                ],
            },
            ENCRYPTED,
            SAID,
            CALLED,
            {"type": "function_call_output", "call_id": "c1", "output": "Ghent"},
            {"type": "message", "role": "developer", "content": "In French."},
        ],
        "instructions": "Be brief.",
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}},
        "tools": [{"type": "function", "name": "f"}],
        "prompt": {"id": "pmpt_1"},
        "prompt_cache_key": "k",
    }
    found = WIRE.canonical(json.dumps(body).encode())
    assert [(segment.kind, segment.pointer, segment.text) for segment in found.segments] == [
        ("tools", "/tools/0", '{"type":"function","name":"f"}'),
        ("schema", "/text/format", '{"type":"json_schema","name":"n","schema":{"type":"object"}}'),
        ("system", "/instructions", "Be brief."),
        ("user", "/input/0/content/0/text", "Hi"),
        ("image", "/input/0/content/1/image_url", "https://a/b.png detail=low"),
        ("assistant", "/input/1/id", "rs_1"),
        ("assistant", "/input/1/encrypted_content", "b3BhcXVl"),
        ("assistant", "/input/2/id", "msg_1"),
        ("assistant", "/input/2/content/0/text", "In Ghent."),
        ("assistant", "/input/3/id", "fc_1"),
        ("assistant", "/input/3/call_id", "c1"),
        ("assistant", "/input/3/name", "f"),
        ("assistant", "/input/3/arguments", '{"b": 1}'),
        ("tool", "/input/4/call_id", "c1"),
        ("tool", "/input/4/output", "Ghent"),
        ("system", "/input/5/content", "In French."),
    ]
    assert found.markers == (Marker("/input/0/content/0/prompt_cache_breakpoint", 3),)
    assert (found.namespace, found.affinity) == (("gpt-5.6", 'prompt={"id":"pmpt_1"}'), "k")


def test_input_as_text():
    found = WIRE.canonical(b'{"model":"m","input":"Hi"}')
    assert [(segment.kind, segment.pointer, segment.text) for segment in found.segments] == [("user", "/input", "Hi")]


@pytest.mark.parametrize("body", [b'{"model":"m"}', b'{"input":5}', b"7", b'{"input":[7]}'])
def test_bodies_that_cannot_be_read(body):
    with pytest.raises(ValueError, match=r"/input|not a JSON object"):
        WIRE.canonical(body)
