import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.core.model import Reading, StreamEvent, Usage
from hitrate.errors import UsageError
from hitrate.targets import dialects
from hitrate.targets.dialects.openai_chat import OpenAIChat

CHAT = OpenAIChat()
ROLE = {"role": "assistant", "content": ""}
DONE = b"[DONE]"
USAGE = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 64}}


def chunk(delta, finish=None, **members):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **members}


def events(*chunks):
    return [
        StreamEvent(number, number, data if isinstance(data, bytes) else json.dumps(data).encode())
        for number, data in enumerate(chunks)
    ]


def read(*chunks):
    return CHAT.read_stream(events(*chunks))


def test_dialects_are_found_by_name():
    assert dialects.dialect("openai-chat").path == "/chat/completions"
    assert "openai-chat" in dialects.names()
    with pytest.raises(UsageError, match=r"no wire format called 'telex'; known: .*openai-chat"):
        dialects.dialect("telex")


@pytest.mark.parametrize(
    ("options", "body"),
    [
        (
            {},
            '{"model":"m","messages":[{"role":"user","content":"é"}],'
            '"stream":true,"stream_options":{"include_usage":true}}',
        ),
        (
            {"stream": False, "max_tokens": 0, "temperature": 0.0},
            '{"model":"m","messages":[{"role":"user","content":"é"}],"stream":false,"max_tokens":0,"temperature":0.0}',
        ),
        (
            {"stream": False, "tools": [{"z": 1, "a": 2}], "extra": {"user": "u", "model": "other"}},
            '{"tools":[{"z":1,"a":2}],"messages":[{"role":"user","content":"é"}],'
            '"stream":false,"user":"u","model":"other"}',
        ),
        (
            {"extra": {"stream_options": None, "unset": None}},
            '{"model":"m","messages":[{"role":"user","content":"é"}],"stream":true}',
        ),
    ],
)
def test_build(options, body):
    assert CHAT.build(model="m", messages=[{"role": "user", "content": "é"}], **options) == body.encode()


def test_build_sends_lone_surrogates_as_escapes():
    body = CHAT.build(model="m", messages=[{"role": "user", "content": "\ud83d"}], stream=False)
    assert body == b'{"model":"m","messages":[{"role":"user","content":"\\ud83d"}],"stream":false}'


@pytest.mark.parametrize(
    ("shape", "deltas", "first_token", "first_content", "token_events"),
    [
        ("role chunk first", [ROLE, {"content": "Hi"}, {"content": "!"}], 1, 1, (1, 2)),
        ("role and text in one", [{"role": "assistant", "content": "Hi"}], 0, 0, (0,)),
        ("white space is text", [ROLE, {"content": "\n"}], 1, 1, (1,)),
        ("nothing but empty text", [ROLE, {"content": ""}, {}], None, None, ()),
        ("reasoning_content", [ROLE, {"reasoning_content": "hm"}, {"content": "Hi"}], 1, 2, (1, 2)),
        ("reasoning", [ROLE, {"reasoning": "hm", "content": ""}, {"content": "Hi"}], 1, 2, (1, 2)),
        ("thinking", [{"thinking": "hm"}, {"content": "Hi"}], 0, 1, (0, 1)),
        ("null reasoning", [{"reasoning_content": None, "content": None}, {"content": "Hi"}], 1, 1, (1,)),
        (
            "reasoning details",
            [{"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}, {"content": "Hi"}],
            0,
            1,
            (0, 1),
        ),
        (
            "mistral thinking parts",
            [{"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}, {"content": "Hi"}],
            0,
            1,
            (0, 1),
        ),
        (
            "tool call",
            [ROLE, {"tool_calls": []}, {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f"}}]}],
            2,
            None,
            (2,),
        ),
        ("legacy function call", [ROLE, {"function_call": {"name": "f", "arguments": ""}}], 1, None, (1,)),
        ("refusal", [ROLE, {"refusal": "no"}], 1, None, (1,)),
    ],
)
def test_first_token(shape, deltas, first_token, first_content, token_events):
    found = read(*(chunk(delta) for delta in deltas), DONE)
    assert (found.first_token, found.first_content, found.token_events) == (first_token, first_content, token_events)


def call_piece(index, **members):
    return {"tool_calls": [{"index": index, **members}]}


@pytest.mark.parametrize(
    ("shape", "deltas", "message"),
    [
        ("text", [ROLE, {"content": "Hi"}, {"content": " é"}], {"role": "assistant", "content": "Hi é"}),
        ("empty text stays text", [ROLE, {}], {"role": "assistant", "content": ""}),
        ("no content stays null", [{"role": "assistant", "content": None}], {"role": "assistant", "content": None}),
        ("no role is the assistant", [{"content": "Hi"}], {"role": "assistant", "content": "Hi"}),
        ("empty role", [{"role": "", "content": "Hi"}], {"role": "assistant", "content": "Hi"}),
        (
            "reasoning kept under its own name",
            [{"reasoning": "a"}, {"reasoning": "b"}, {"content": "Hi", "reasoning": None}],
            {"role": "assistant", "content": "Hi", "reasoning": "ab"},
        ),
        (
            "null and empty lists are nothing",
            [
                {"role": "assistant", "content": None, "refusal": None, "tool_calls": None, "function_call": None},
                {"content": "Hi", "tool_calls": [], "reasoning_details": [], "audio": None, "annotations": []},
            ],
            {"role": "assistant", "content": "Hi"},
        ),
        (
            "a character cut in two",
            [{"content": "a\ud83d"}, {"content": "\ude00b"}],
            {"role": "assistant", "content": "a😀b"},
        ),
        (
            "arguments byte for byte, calls by index",
            [
                {"role": "assistant", "content": None},
                call_piece(0, id="c1", type="function", function={"name": "find", "arguments": ""}),
                call_piece(1, id="c2", type="function", function={"name": "stop", "arguments": ""}),
                call_piece(0, function={"arguments": '{"q":  "\\u00e9'}),
                call_piece(1, function={"arguments": "{}"}),
                call_piece(0, function={"arguments": '", "n": 1.0 }'}),
            ],
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "find", "arguments": '{"q":  "\\u00e9", "n": 1.0 }'},
                    },
                    {"id": "c2", "type": "function", "function": {"name": "stop", "arguments": "{}"}},
                ],
            },
        ),
        (
            "parallel calls all numbered 0",
            [
                call_piece(0, id="c1", function={"name": "f", "arguments": "{}"}),
                call_piece(0, id="c2", function={"name": "f", "arguments": "[]"}),
            ],
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "function": {"name": "f", "arguments": "{}"}},
                    {"id": "c2", "function": {"name": "f", "arguments": "[]"}},
                ],
            },
        ),
        (
            "an id of its own on every piece, the name repeated",
            [
                call_piece(0, id="c1", function={"name": "f", "arguments": "{"}),
                call_piece(0, id="c9", function={"arguments": "}"}),
                call_piece(0, function={"name": "f", "arguments": ""}),
            ],
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}],
            },
        ),
        (
            "a name in two pieces, no index, vendor members kept",
            [
                {"tool_calls": [{"id": "c1", "function": {"name": "fi"}, "extra_content": {"sig": "s"}}]},
                {"tool_calls": [{"function": {"name": "nd", "arguments": "{}"}}]},
            ],
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "function": {"name": "find", "arguments": "{}"}, "extra_content": {"sig": "s"}}
                ],
            },
        ),
        (
            "arguments as an object",
            [call_piece(0, id="c1", function={"name": "f", "arguments": {"q": 1}})],
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {"q": 1}}}],
            },
        ),
        (
            "legacy function call",
            [{"function_call": {"name": "f", "arguments": ""}}, {"function_call": {"arguments": '{"a":1}'}}],
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a":1}'}},
        ),
        (
            "reasoning details by index and type",
            [
                {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "a", "signature": None}]},
                {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "b", "signature": "s"}]},
                {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "x"}]},
            ],
            {
                "role": "assistant",
                "content": None,
                "reasoning_details": [
                    {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s"},
                    {"type": "reasoning.encrypted", "index": 1, "data": "x"},
                ],
            },
        ),
        (
            "mistral parts",
            [
                {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "h"}]}]},
                {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "m"}]}]},
                {"content": "H"},
                {"content": "i"},
            ],
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                    {"type": "text", "text": "Hi"},
                ],
            },
        ),
        (
            "unknown fields: strings joined, others last",
            [{"content": "x", "note": "a", "score": 1}, {"note": "b", "score": 2, "list": [1]}, {"list": [2]}],
            {"role": "assistant", "content": "x", "note": "ab", "score": 2, "list": [2]},
        ),
    ],
)
def test_message_put_together_from_deltas(shape, deltas, message):
    reply = read(*(chunk(delta) for delta in deltas), DONE).reply
    assert reply.message == message
    assert list(reply.message) == list(message)


def test_reply_of_a_stream():
    found = read(
        chunk({"role": "assistant", "content": None}, id="r1", model="m-1"),
        chunk({"reasoning_content": "hm"}, id="r1", model="m-1"),
        chunk({"content": "Hi"}, id="r1", model="m-1"),
        chunk({}, "stop", id="r1", model="m-1"),
        {"id": "r1", "choices": [], "usage": USAGE, "timings": {"cache_n": 64, "prompt_ms": 3.5}},
        DONE,
    )
    reply = found.reply
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("Hi", "hm", "stop")
    assert (reply.model, reply.response_id) == ("m-1", "r1")
    assert reply.server_timings == {"cache_n": 64, "prompt_ms": 3.5}
    assert found.raw_usage == USAGE
    assert found.usage == Usage(
        prompt_tokens=100,
        output_tokens=5,
        cached_tokens=64,
        cached_source="usage.prompt_tokens_details.cached_tokens",
        sources={
            "prompt_tokens": "usage.prompt_tokens",
            "cached_tokens": "usage.prompt_tokens_details.cached_tokens",
            "output_tokens": "usage.completion_tokens",
        },
    )
    assert (found.complete, found.fault) == (True, None)


@pytest.mark.parametrize(
    ("shape", "chunks", "prompt_tokens"),
    [
        ("last chunk", [chunk({"content": "x"}), {"choices": [], "usage": {"prompt_tokens": 7}}], 7),
        ("null but in the last", [chunk({}, usage=None), {"choices": [], "usage": {"prompt_tokens": 7}}], 7),
        ("with the finish reason", [chunk({}, "stop", usage={"prompt_tokens": 7})], 7),
        (
            "running totals: the last counts",
            [chunk({"content": "x"}, usage={"prompt_tokens": 7}), chunk({}, "stop", usage={"prompt_tokens": 8})],
            8,
        ),
        ("null after a count", [chunk({}, usage={"prompt_tokens": 7}), chunk({}, usage=None)], 7),
        ("inside the choice", [{"choices": [{"index": 0, "delta": {}, "usage": {"prompt_tokens": 7}}]}], 7),
        ("x_groq", [chunk({}, x_groq={"id": "r"}), chunk({}, x_groq={"usage": {"prompt_tokens": 7}})], 7),
        ("none", [chunk({"content": "x"})], None),
    ],
)
def test_usage_in_a_stream(shape, chunks, prompt_tokens):
    assert read(*chunks, DONE).usage.prompt_tokens == prompt_tokens


@pytest.mark.parametrize(
    ("shape", "chunks", "text", "complete", "fault"),
    [
        ("whole", [chunk({"content": "Hi"}, "stop"), DONE], "Hi", True, None),
        ("no [DONE] but a finish reason", [chunk({"content": "Hi"}, "stop")], "Hi", True, None),
        ("no finish reason but [DONE]", [chunk({"content": "Hi"}), DONE], "Hi", True, None),
        ("cut", [chunk({"content": "Hi"})], "Hi", False, None),
        ("blank events", [b"", b"  ", chunk({"content": "Hi"}, "stop"), b" [DONE] "], "Hi", True, None),
        (
            "malformed chunk, the rest is read",
            [chunk({"content": "H"}), b'{"choices": [{"del', chunk({"content": "i"}, "stop"), DONE],
            "Hi",
            True,
            "event 2 is malformed JSON (Unterminated string starting at: line 1 column 15 (char 14))",
        ),
        (
            "two faults",
            [chunk({"content": "Hi"}, "stop"), b"null", b"[1]", DONE],
            "Hi",
            True,
            "event 2 is not a JSON object (NoneType) (and 1 more)",
        ),
        (
            "error after 200",
            [chunk({"content": "Hi"}), {"error": {"message": "out of\nmemory", "code": 500}}, DONE],
            "Hi",
            False,
            "event 2: the server sent an error after status 200: out of memory (500)",
        ),
        (
            "error as a string",
            [chunk({"content": "Hi"}), {"error": "overloaded"}],
            "Hi",
            False,
            "event 2: the server sent an error after status 200: overloaded",
        ),
        (
            "vllm's error object",
            [chunk({"content": "Hi"}), {"object": "error", "message": "aborted", "code": 400}, DONE],
            "Hi",
            False,
            "event 2: the server sent an error after status 200: aborted (400)",
        ),
        ("not UTF-8", [chunk({"content": "Hi"}, "stop"), b'"\xff"'], "Hi", True, "event 2 is malformed JSON"),
        (
            "usage of the wrong kind",
            [chunk({"content": "Hi"}, "stop", usage={"prompt_tokens": -1})],
            "Hi",
            True,
            "usage.prompt_tokens is '-1', not a token count",
        ),
    ],
)
def test_damaged_streams(shape, chunks, text, complete, fault):
    found = read(*chunks)
    assert (found.reply.text, found.complete) == (text, complete)
    if fault is None:
        assert found.fault is None
    else:
        assert found.fault.startswith(fault)


@pytest.mark.parametrize("chunks", [(), (DONE,), ({"choices": [], "usage": None},), ({"error": {"code": 1}},)])
def test_streams_without_a_message(chunks):
    found = read(*chunks)
    assert found.reply is None
    assert found.first_token is None


def test_of_several_choices_the_first_is_read():
    other = {"choices": [{"index": 1, "delta": {"content": "other"}}]}
    both = {"choices": [{"index": 1, "delta": {"content": "x"}}, {"index": 0, "delta": {"content": "Hi"}}]}
    found = read(other, both, other, chunk({}, "stop"), DONE)
    assert (found.reply.text, found.token_events) == ("Hi", (1,))


def test_a_whole_message_sent_as_an_event():
    message = {"role": "assistant", "content": "Hi", "vendor": [1]}
    found = read({"choices": [{"message": message, "finish_reason": "stop"}]}, DONE)
    assert (found.reply.message, found.first_token, found.first_content) == (message, 0, 0)


@pytest.mark.parametrize(
    ("engine", "chunks"),
    [
        (
            "vllm",
            [
                {"choices": [{"delta": {"content": "a"}, "token_ids": [5, 6]}]},
                {"choices": [{"delta": {"content": "b"}, "token_ids": [7]}]},
            ],
        ),
        (
            "llama.cpp",
            [
                chunk({"content": "a"}, __verbose={"tokens": [5, 6]}),
                chunk({"content": "b"}, __verbose={"tokens": [7]}),
                {"choices": [], "__verbose": {"tokens": []}},
            ],
        ),
    ],
)
def test_generated_token_ids(engine, chunks):
    assert read(*chunks, DONE).reply.token_ids == (5, 6, 7)


def test_read_body_keeps_the_message_as_it_came():
    message = {
        "role": "assistant",
        "content": None,
        "reasoning_content": "hm",
        "annotations": [],
        "tool_calls": [{"index": 0, "id": "c", "function": {"arguments": '{ "a":1}', "name": "f"}, "type": "function"}],
    }
    body = {"id": "r", "model": "m", "usage": USAGE, "choices": [{"message": message, "finish_reason": "tool_calls"}]}
    found = CHAT.read_body(json.dumps(body).encode())
    assert json.dumps(found.reply.message) == json.dumps(message)
    assert found.reply.tool_calls == (message["tool_calls"][0],)
    assert (found.reply.reasoning, found.reply.finish_reason) == ("hm", "tool_calls")
    assert (found.usage.cached_tokens, found.complete, found.fault) == (64, True, None)
    assert (found.first_token, found.token_events) == (None, ())


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", "the reply is malformed JSON"),
        (b"<html>", "the reply is malformed JSON"),
        (b"[]", "the reply is not a JSON object (list)"),
        (b"{}", "the reply holds no message"),
        (b'{"choices": []}', "the reply holds no message"),
        (b'{"choices": [{"message": "hi"}]}', "the reply holds no message"),
        (b'{"error": {"message": "no such model", "type": "not_found"}}', "the server answered with an error: no such"),
        (b'{"a":' * 3000, "the reply is "),
    ],
)
def test_read_body_never_raises(body, fault):
    found = CHAT.read_body(body)
    assert (found.reply, found.complete) == (None, False)
    assert found.fault.startswith(fault)


MEMBERS = ("choices", "delta", "content", "tool_calls", "function", "arguments", "name", "index", "usage", "text")
MEMBERS += ("type", "thinking", "reasoning_details", "error", "message", "prompt_tokens_details", "__verbose")

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(MEMBERS),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


odd = st.sampled_from([None, "", "x", 0, 1, True, [], ["x"], {}])
functions = odd | st.dictionaries(st.sampled_from(["name", "arguments", "extra"]), odd)
odd_calls = (
    odd | st.dictionaries(st.sampled_from(["id", "index", "type"]), odd) | functions.map(lambda one: {"function": one})
)
details = odd | st.dictionaries(st.sampled_from(["index", "type", "text", "data"]), odd)
deltas = st.dictionaries(st.sampled_from(["role", "content", "refusal", "reasoning", "note"]), odd) | st.one_of(
    functions.map(lambda one: {"function_call": one}),
    st.lists(odd_calls, max_size=3).map(lambda some: {"tool_calls": some}),
    st.lists(details, max_size=3).map(lambda some: {"reasoning_details": some}),
    st.lists(details, max_size=3).map(lambda some: {"content": some}),
)


@given(pieces=st.lists(deltas, max_size=5))
def test_deltas_of_any_shape_never_raise_and_can_be_sent_back(pieces):
    found = read(*(chunk(piece) for piece in pieces), DONE)
    if found.reply is not None:
        CHAT.build(model="m", messages=[found.reply.message])


@given(objects=st.lists(anything, max_size=4))
def test_streams_of_any_json_never_raise(objects):
    wrapped = [{"choices": [{"delta": item}], "usage": item} for item in objects]
    assert isinstance(read(*objects, *wrapped), Reading)
    assert isinstance(CHAT.read_body(json.dumps(objects[0] if objects else None).encode()), Reading)


@given(pieces=st.lists(st.text(max_size=5), min_size=1, max_size=8))
def test_arguments_and_text_come_back_as_sent_however_they_were_cut(pieces):
    deltas = [{"content": piece, "tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces]
    message = read(*(chunk(delta) for delta in deltas), DONE).reply.message
    assert message["content"] == "".join(pieces)
    assert message["tool_calls"][0]["function"]["arguments"] == "".join(pieces)
