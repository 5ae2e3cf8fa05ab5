import json

import pytest

from hitrate.core.model import StreamEvent
from hitrate.targets.dialects.llamacpp_completion import LlamaCppCompletion, chatml

WIRE = LlamaCppCompletion()
ASKED = {"role": "user", "content": "Hi"}
TIMINGS = {"cache_n": 7, "prompt_n": 2, "predicted_n": 2}


def read(*chunks):
    return WIRE.read_stream([StreamEvent(i, i, json.dumps(one).encode()) for i, one in enumerate(chunks)])


def test_a_request_as_bytes():
    assert WIRE.build(model="m", messages=[ASKED], max_tokens=5, temperature=0) == (
        b'{"model":"m","prompt":"<|im_start|>user\\nHi<|im_end|>\\n<|im_start|>assistant\\n",'
        b'"stream":true,"cache_prompt":true,"n_predict":5,"temperature":0}'
    )


@pytest.mark.parametrize("prompt", ["text", [1, 2, 3]])
def test_a_prompt_given_as_it_is(prompt):
    body = json.loads(WIRE.build(model="m", messages=[ASKED], extra={"prompt": prompt, "cache_prompt": None}))
    assert body == {"model": "m", "stream": True, "prompt": prompt}


def test_chatml():
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"b": 1}'}}
    messages = [ASKED, {"role": "assistant", "content": "So.", "tool_calls": [call]}, {"role": "tool", "content": "2"}]
    assert chatml(messages, [{"name": "f"}]) == (
        '<|im_start|>system\n{"name":"f"}<|im_end|>\n'
        "<|im_start|>user\nHi<|im_end|>\n"
        '<|im_start|>assistant\nSo.\n{"name":"f","arguments":{"b":1}}<|im_end|>\n'
        "<|im_start|>tool\n2<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


@pytest.mark.parametrize(
    ("prompt", "segments"),
    [
        ("Hi", [("user", "/prompt", "Hi")]),
        ([1, 23], [("user", "/prompt", "1 23 ")]),
        ([1, "Hi", 23], [("user", "/prompt/0", "1 "), ("user", "/prompt/1", "Hi"), ("user", "/prompt/2", "23 ")]),
        (["Hi"], [("user", "/prompt/0", "Hi")]),
        ([[1, 23]], [("user", "/prompt/0", "1 23 ")]),
        ({"prompt_string": "Hi"}, [("user", "/prompt/prompt_string", "Hi")]),
    ],
)
def test_the_canonical_prompt(prompt, segments):
    found = WIRE.canonical(json.dumps({"model": "m", "prompt": prompt, "id_slot": 3, "lora": [{"id": 0}]}).encode())
    assert [(segment.kind, segment.pointer, segment.text) for segment in found.segments] == segments
    assert (found.namespace, found.affinity) == (("m", 'lora=[{"id":0}]'), "3")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"{}", r"/prompt: expected text or token ids"),
        (b"[]", r"/prompt: expected text or token ids"),
        (b'{"prompt":["a","b"]}', r"/prompt: several prompts in one request"),
        (b'{"prompt":[[1],[2]]}', r"/prompt: several prompts in one request"),
    ],
)
def test_bodies_that_cannot_be_read(body, error):
    with pytest.raises(ValueError, match=error):
        WIRE.canonical(body)


def test_a_stream():
    found = read(
        {"index": 0, "content": "", "tokens": [], "stop": False, "id_slot": 1},
        {"index": 0, "content": "", "tokens": [5], "stop": False, "id_slot": 1},
        {"index": 0, "content": "Hi", "tokens": [6], "stop": False, "id_slot": 1},
        {"content": "", "stop": True, "stop_type": "limit", "model": "m-1", "timings": TIMINGS, "tokens_cached": 99},
    )
    reply = found.reply
    assert (reply.message, reply.text) == ({"role": "assistant", "content": "Hi"}, "Hi")
    assert (reply.finish_reason, reply.model, reply.slot, reply.token_ids) == ("limit", "m-1", 1, (5, 6))
    assert (found.first_token, found.first_content, found.token_events) == (1, 2, (1, 2))
    assert (found.usage.prompt_tokens, found.usage.cached_tokens, found.usage.output_tokens) == (9, 7, 2)
    assert (found.complete, found.fault, found.raw_usage, reply.server_timings) == (True, None, TIMINGS, TIMINGS)


def test_ids_are_left_out_when_some_are_missing():
    found = read({"content": "Hi", "tokens": [6], "stop": False}, {"content": "", "stop": True, "timings": TIMINGS})
    assert found.reply.token_ids is None


@pytest.mark.parametrize(
    ("chunks", "fault", "complete"),
    [
        ([{"content": "Hi", "stop": False}], None, False),
        (
            [{"content": "Hi", "stop": False}, {"error": {"code": 500, "message": "context shift is disabled"}}],
            "event 2: the server sent an error after status 200: context shift is disabled (500)",
            False,
        ),
    ],
    ids=["cut off", "error"],
)
def test_streams_with_faults_keep_what_came(chunks, fault, complete):
    found = read(*chunks)
    assert (found.reply.text, found.fault, found.complete) == ("Hi", fault, complete)


def test_bodies():
    found = WIRE.read_body(b'{"content":"Hi","tokens":[5,6],"stop":true,"tokens_predicted":2,"tokens_evaluated":9}')
    assert (found.reply.text, found.reply.token_ids, found.complete, found.token_events) == ("Hi", (5, 6), True, ())
    assert WIRE.read_body(b'{"object":"list"}').fault == "the reply holds no content"


USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 7}}


def test_bodies_of_openai_completions():
    choice = {"index": 0, "text": "Hi", "finish_reason": "length"}
    found = WIRE.read_body(json.dumps({"model": "m-1", "choices": [choice], "usage": USAGE}).encode())
    assert (found.reply.text, found.reply.finish_reason, found.complete, found.fault) == ("Hi", "length", True, None)
    assert (found.usage.prompt_tokens, found.usage.cached_tokens, found.usage.output_tokens) == (9, 7, 2)
    assert found.raw_usage == USAGE


def test_streams_of_openai_completions():
    found = read(
        {"choices": [{"index": 0, "text": "H", "finish_reason": None}], "usage": None},
        {"choices": [{"index": 0, "text": "i", "finish_reason": "stop"}], "usage": None},
        {"choices": [], "usage": USAGE},
    )
    assert (found.reply.text, found.complete, found.token_events) == ("Hi", True, (0, 1))
    assert (found.usage.prompt_tokens, found.usage.cached_tokens) == (9, 7)
