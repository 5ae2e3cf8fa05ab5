import json

import pytest

from hitrate.core.model import StreamEvent
from hitrate.targets.dialects.gemini_generate import GeminiGenerate

WIRE = GeminiGenerate()
ASKED = {"role": "user", "content": "Hi"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}, "strict": True}}


def build(messages, **options):
    return json.loads(WIRE.build(**{"model": "m", "messages": messages, **options}))


def chunk(*parts, finish=None, **members):
    candidate = {"content": {"role": "model", "parts": list(parts)}}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})], **members}


def read(*chunks):
    return WIRE.read_stream([StreamEvent(i, i, json.dumps(one).encode()) for i, one in enumerate(chunks)])


def test_a_request_as_bytes():
    body = WIRE.build(
        model="m",
        messages=[{"role": "system", "content": "Be brief."}, ASKED],
        tools=[TOOL, {"googleSearch": {}}],
        max_tokens=5,
        temperature=0,
        extra={"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}, "cachedContent": "cachedContents/1"},
    )
    assert body == (
        b'{"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"type":"object"}}]},'
        b'{"googleSearch":{}}],"systemInstruction":{"parts":[{"text":"Be brief."}]},'
        b'"contents":[{"role":"user","parts":[{"text":"Hi"}]}],'
        b'"generationConfig":{"maxOutputTokens":5,"temperature":0,"thinkingConfig":{"thinkingBudget":0}},'
        b'"cachedContent":"cachedContents/1"}'
    )


CALLS = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"y": 1}'}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
    ],
}
RESULTS = [{"role": "tool", "tool_call_id": "a", "content": "1"}, {"role": "tool", "tool_call_id": "b", "content": "2"}]
OWN_CALLS = {
    "role": "model",
    "parts": [
        {"functionCall": {"name": "f", "args": {"y": 1}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "f", "args": {}}},
    ],
}


@pytest.mark.parametrize(
    ("messages", "contents"),
    [
        (
            [CALLS, *RESULTS],
            [
                {
                    "role": "model",
                    "parts": [
                        {"functionCall": {"id": "a", "name": "f", "args": {"y": 1}}},
                        {"functionCall": {"id": "b", "name": "g", "args": {}}},
                    ],
                },
                {
                    "role": "user",
                    "parts": [
                        {"functionResponse": {"id": "a", "name": "f", "response": {"output": "1"}}},
                        {"functionResponse": {"id": "b", "name": "g", "response": {"output": "2"}}},
                    ],
                },
            ],
        ),
        (
            [
                OWN_CALLS,
                {"role": "tool", "tool_call_id": "0-f", "content": "1"},
                {"role": "tool", "tool_call_id": "1-f", "content": "2"},
            ],
            [
                OWN_CALLS,
                {
                    "role": "user",
                    "parts": [
                        {"functionResponse": {"name": "f", "response": {"output": "1"}}},
                        {"functionResponse": {"name": "f", "response": {"output": "2"}}},
                    ],
                },
            ],
        ),
        (
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "image_url", "image_url": {"url": "data:image/webp;base64,aGk="}},
                        {"type": "image_url", "image_url": "https://a/b.png"},
                    ],
                }
            ],
            [
                {
                    "role": "user",
                    "parts": [
                        {"inlineData": {"mimeType": "image/webp", "data": "aGk="}},
                        {"fileData": {"fileUri": "https://a/b.png"}},
                    ],
                }
            ],
        ),
    ],
    ids=["tool calls", "calls of this wire, without ids", "images"],
)
def test_messages_become_contents(messages, contents):
    assert build(messages)["contents"] == contents


# --- replies -----------------------------------------------------------------------------------------------------


def test_a_stream():
    found = read(
        chunk({"text": "Hm", "thought": True}, modelVersion="gemini-x", responseId="r1"),
        chunk({"text": ".", "thought": True}),
        chunk({"text": ""}),
        chunk({"text": "In "}),
        chunk({"text": "Ghent."}),
        chunk({"functionCall": {"name": "f", "args": {"b": 1}}, "thoughtSignature": "c2ln"}),
        chunk({"text": "", "thoughtSignature": "ZW5k"}, finish="STOP", usageMetadata={"promptTokenCount": 9}),
    )
    reply = found.reply
    assert reply.message == {
        "role": "model",
        "parts": [
            {"text": "Hm.", "thought": True},
            {"text": "In Ghent."},
            {"functionCall": {"name": "f", "args": {"b": 1}}, "thoughtSignature": "c2ln"},
            {"text": "", "thoughtSignature": "ZW5k"},
        ],
    }
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("In Ghent.", "Hm.", "STOP")
    assert (reply.model, reply.response_id) == ("gemini-x", "r1")
    assert reply.tool_calls == ({"id": "0-f", "type": "function", "function": {"name": "f", "arguments": '{"b":1}'}},)
    assert found.token_events == (0, 1, 3, 4, 5)
    assert (found.first_token, found.first_content) == (0, 3)
    assert (found.complete, found.fault, found.raw_usage) == (True, None, {"promptTokenCount": 9})
    assert build([ASKED, reply.message])["contents"][1] == reply.message


def test_a_signature_keeps_its_part_apart():
    signed = {"text": "b", "thoughtSignature": "c2ln"}
    found = read(chunk({"text": "a"}), chunk(signed), chunk({"text": "c"}), chunk({"text": "d"}, finish="STOP"))
    assert found.reply.message["parts"] == [{"text": "a"}, signed, {"text": "cd"}]


def test_a_body():
    found = WIRE.read_body(json.dumps(chunk({"text": "Hi"}, finish="MAX_TOKENS")).encode())
    assert found.reply.message == {"role": "model", "parts": [{"text": "Hi"}]}
    assert (found.reply.finish_reason, found.complete, found.fault) == ("MAX_TOKENS", True, None)
    assert found.token_events == ()


@pytest.mark.parametrize(
    ("chunks", "fault", "complete"),
    [
        ([chunk({"text": "Hi"})], None, False),
        (
            [chunk({"text": "Hi"}), {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}],
            "event 2: the server sent an error after status 200: overloaded (503)",
            False,
        ),
        (
            [chunk({"text": "Hi"}), "x", chunk(finish="STOP")],
            "event 2 is not a JSON object (str)",
            True,
        ),
    ],
    ids=["cut off", "error", "no object"],
)
def test_streams_with_faults_keep_what_came(chunks, fault, complete):
    found = read(*chunks)
    assert (found.reply.text, found.fault, found.complete) == ("Hi", fault, complete)


def test_a_blocked_prompt():
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}}
    for found in (WIRE.read_body(json.dumps(blocked).encode()), read(blocked)):
        assert (found.reply, found.complete) == (None, False)
        assert found.fault == "the reply holds no message: the prompt was blocked (SAFETY)"
        assert found.usage.prompt_tokens == 9


# --- the canonical prompt ----------------------------------------------------------------------------------------


def canonical(body):
    return WIRE.canonical(json.dumps(body).encode())


def test_order_and_places():
    found = canonical(
        {
            "contents": [
                {"role": "user", "parts": [{"text": "Hi"}, {"fileData": {"fileUri": "https://a/b.png"}}]},
                {
                    "role": "model",
                    "parts": [
                        {"text": "Hm.", "thought": True},
                        {"functionCall": {"name": "f", "args": {"b": 1}}, "thoughtSignature": "c2ln"},
                    ],
                },
                {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "Ghent"}}}]},
                {"role": "model", "parts": []},
            ],
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "generationConfig": {"responseSchema": {"type": "OBJECT"}},
            "tools": [{"functionDeclarations": [{"name": "f"}, {"name": "g"}]}, {"googleSearch": {}}],
            "cachedContent": "cachedContents/1",
        }
    )
    assert [(segment.kind, segment.pointer, segment.text) for segment in found.segments] == [
        ("tools", "/tools/0/functionDeclarations/0", '{"name":"f"}'),
        ("tools", "/tools/0/functionDeclarations/1", '{"name":"g"}'),
        ("tools", "/tools/1", '{"googleSearch":{}}'),
        ("schema", "/generationConfig/responseSchema", '{"type":"OBJECT"}'),
        ("system", "/systemInstruction/parts/0/text", "Be brief."),
        ("user", "/contents/0/parts/0/text", "Hi"),
        ("image", "/contents/0/parts/1/fileData/fileUri", "https://a/b.png"),
        ("assistant", "/contents/1/parts/0/text", "Hm."),
        ("assistant", "/contents/1/parts/1/functionCall/name", "f"),
        ("assistant", "/contents/1/parts/1/functionCall/args", '{"b":1}'),
        ("assistant", "/contents/1/parts/1/thoughtSignature", "c2ln"),
        ("tool", "/contents/2/parts/0/functionResponse/name", "f"),
        ("tool", "/contents/2/parts/0/functionResponse/response", '{"output":"Ghent"}'),
        ("assistant", "/contents/3", ""),
    ]
    assert found.namespace == ("", "cachedContent=cachedContents/1")


def test_both_spellings():
    camel = {"contents": [], "systemInstruction": {"parts": [{"text": "Hi"}]}, "cachedContent": "c"}
    snake = {"contents": [], "system_instruction": {"parts": [{"text": "Hi"}]}, "cached_content": "c"}
    assert canonical(camel).namespace == canonical(snake).namespace == ("", "cachedContent=c")
    assert canonical(camel).segments[0].text == canonical(snake).segments[0].text == "Hi"


@pytest.mark.parametrize("body", [b"{}", b'{"contents":"Hi"}', b'{"contents":["Hi"]}', b"x"])
def test_bodies_that_cannot_be_read(body):
    with pytest.raises(ValueError):
        WIRE.canonical(body)
