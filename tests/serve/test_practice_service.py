"""From request bytes to an answer, without sockets: accounting, refusals, replies that come back as history."""

from __future__ import annotations

import json

import msgspec
import pytest
from practice_fakes import chat_body, make_service, words

from hitrate.caches.slots import SlotCache
from hitrate.serve.practice.faults import parse_fault
from hitrate.serve.practice.options import PracticeModel
from hitrate.serve.practice.wire import Refused
from hitrate.serve.practice.wire_openai_chat import WIRE

TOOLS = [
    {"type": "function", "function": {"name": "look_up", "parameters": {"properties": {"id": {"type": "integer"}}}}},
    {"type": "function", "function": {"name": "refund", "parameters": {"properties": {"why": {"type": "string"}}}}},
]


class Client:
    """Sends bodies one after the other, each a second later, and lets every reply end."""

    def __init__(self, service):
        self.service = service
        self.now = 0.0

    def accept(self, body, headers=()):
        self.now += 1.0
        return self.service.accept(
            WIRE, body, dict(headers), now=lambda: self.now, read_at=self.now, admitted=lambda: None
        )

    def call(self, body, headers=()):
        """The whole answer as JSON."""
        accepted = self.accept(body, headers)
        answer = self.service.answer(accepted, created=0)
        self.service.engine.first_token(accepted.job, now=self.now)
        self.service.finish(accepted, now=lambda: self.now)
        self.service.engine.check_integrity()
        return msgspec.json.decode(WIRE.body(answer).replace(b"\0", b"id"))

    def cached(self, body, headers=()):
        return self.call(body, headers)["usage"]["prompt_tokens_details"]["cached_tokens"]


def refusal(service, body, headers=()):
    with pytest.raises(Refused) as caught:
        Client(service).accept(body, headers)
    refused = caught.value
    return refused.status, refused.code, msgspec.json.decode(WIRE.error(refused))["error"]


def test_usage():
    client = Client(make_service())
    assert client.call(chat_body("hello there you", max_tokens=5))["usage"] == {
        # Three words, the ends of a message and the opening of the answer.
        "prompt_tokens": 6,
        "completion_tokens": 5,
        "total_tokens": 11,
        "prompt_tokens_details": {"cached_tokens": 0},
    }


@pytest.mark.parametrize("block_size", [1, 4, 16])
@pytest.mark.parametrize("extra", [{}, {"tools": TOOLS, "tool_choice": "required"}])
def test_each_turn_finds_the_whole_history_with_the_replies(block_size, extra):
    client = Client(make_service(block_size=block_size))
    messages = [{"role": "system", "content": words(50)}]
    history = 0
    for turn in range(4):
        messages.append({"role": "user", "content": f"turn {turn} {words(7, start=turn)}"})
        reply = client.call(json.dumps({"model": "practice", "messages": messages, "max_tokens": 21, **extra}).encode())
        assert reply["usage"]["prompt_tokens_details"]["cached_tokens"] == history // block_size * block_size
        # What the engine computed: the prompt, which ends with the opening of the answer, and the answer's tokens.
        # A tool call has a mark between id, name and arguments more than its text.
        message = reply["choices"][0]["message"]
        if message["content"] is not None:
            texts = [message["content"]]
        else:
            texts = [message["tool_calls"][0]["id"], *message["tool_calls"][0]["function"].values()]
        generated = sum(len(client.service._tokenizer.encode(text)) for text in texts) + len(texts) - 1
        history = reply["usage"]["prompt_tokens"] + generated
        messages.append(message)


def test_a_changed_first_message_finds_nothing():
    client = Client(make_service())
    client.call(chat_body({"role": "system", "content": "12:01 " + words(60)}, "hello"))
    assert client.cached(chat_body({"role": "system", "content": "12:02 " + words(60)}, "hello")) == 0


def test_replies_depend_on_prompt_and_seed_alone():
    def text(seed, *contents):
        return Client(make_service(seed=seed)).call(chat_body(*contents))["choices"][0]["message"]["content"]

    assert text(1, "hello") == text(1, "hello")
    assert len({text(1, "hello"), text(1, "hello you"), text(2, "hello")}) == 3


@pytest.mark.parametrize(
    ("members", "options", "tokens", "finish"),
    [
        ({"max_tokens": 7}, {}, 7, "length"),
        ({"max_tokens": 9, "max_completion_tokens": 7}, {}, 7, "length"),
        ({}, {}, 32, "stop"),
        ({}, {"reply_tokens": 5}, 5, "stop"),
        ({"max_tokens": 7}, {"reply_tokens": 5}, 5, "stop"),
        ({"max_tokens": 3}, {"reply_tokens": 5}, 3, "length"),
        ({"max_tokens": 99}, {"context_limit": 14}, 10, "length"),
        ({"stop": " "}, {}, 1, "stop"),
        ({"stop": ["nowhere"]}, {}, 32, "stop"),
    ],
)
def test_length_of_replies(members, options, tokens, finish):
    service = make_service(**options)
    reply = Client(service).call(chat_body("hello", **members))
    assert reply["usage"]["completion_tokens"] == tokens
    assert reply["choices"][0]["finish_reason"] == finish
    assert len(service._tokenizer.encode(reply["choices"][0]["message"]["content"])) == tokens


@pytest.mark.parametrize(
    ("options", "choice", "contents", "called"),
    [
        ({}, None, ["hi"], None),
        ({}, "auto", ["hi"], None),
        ({}, "required", ["hi"], "look_up"),
        ({}, {"type": "function", "function": {"name": "refund"}}, ["hi"], "refund"),
        ({"tool_calls": True}, "auto", ["hi"], "look_up"),
        ({"tool_calls": True}, "none", ["hi"], None),
        # An agent's loop comes to an end: a tool's result is answered with text.
        ({"tool_calls": True}, None, ["hi", {"role": "tool", "tool_call_id": "x", "content": "42"}], None),
    ],
)
def test_when_a_tool_is_called(options, choice, contents, called):
    body = chat_body(*contents, tools=TOOLS, **({"tool_choice": choice} if choice else {}))
    choice = Client(make_service(**options)).call(body)["choices"][0]
    if called is None:
        assert choice["message"]["content"] and "tool_calls" not in choice["message"]
    else:
        assert choice["message"]["content"] is None
        [call] = choice["message"]["tool_calls"]
        assert (call["type"], call["function"]["name"], choice["finish_reason"]) == ("function", called, "tool_calls")
        expected = {"look_up": {"id": 1}, "refund": {"why": "practice"}}[called]
        assert json.loads(call["function"]["arguments"]) == expected


def test_reasoning_comes_first_and_counts():
    reply = Client(make_service(faults=(parse_fault("reasoning-first:tokens=3"),))).call(chat_body("hi", max_tokens=10))
    message = reply["choices"][0]["message"]
    assert [len(message[name].split(" ")) for name in ("reasoning_content", "content")] == [3, 7]
    assert reply["usage"]["completion_tokens_details"] == {"reasoning_tokens": 3}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (({"prompt_cache_key": "a"}, {}), ({"prompt_cache_key": "a", "user": "x"}, {})),
        (({"user": "a"}, {}), ({"user": "a"}, {"x-session-id": "other"})),
        (({}, {"x-session-affinity": "a"}), ({}, {"x-session-affinity": "a", "x-session-id": "other"})),
        (({}, {"x-claude-code-session-id": "a"}), ({}, {"x-claude-code-session-id": "a"})),
    ],
)
def test_affinity_is_found_in_body_and_headers(first, second):
    client = Client(make_service(replicas=64, routing="session-affinity"))
    replicas = {client.accept(chat_body("hi", **members), headers).job.replica for members, headers in (first, second)}
    assert len(replicas) == 1
    assert client.accept(chat_body("hi", user="b")).job.replica not in replicas


@pytest.mark.parametrize("knob", ["cache_salt", "prompt_cache_isolation_key"])
def test_a_cold_knob_is_another_namespace(knob):
    client = Client(make_service())
    client.call(chat_body(words(40)))
    assert client.cached(chat_body(words(40), **{knob: "run 1"})) == 0
    assert client.cached(chat_body(words(40), **{knob: "run 1"})) == 32
    assert client.cached(chat_body(words(40))) == 32


def test_models_share_nothing():
    client = Client(make_service(models=(PracticeModel("one"), PracticeModel("two"))))
    client.call(chat_body(words(40), model="one"))
    assert client.cached(chat_body(words(40), model="two")) == 0


@pytest.mark.parametrize(
    ("body", "status", "code", "says"),
    [
        (b"{not json", 400, None, "not valid JSON"),
        (b"\xff\xfe", 400, None, "not valid JSON"),
        (b"[]", 400, None, "not a JSON object"),
        (b'{"model": "practice"}', 400, None, "'messages' has to be"),
        (b'{"model": "practice", "messages": []}', 400, None, "'messages' has to be"),
        (b'{"model": "practice", "messages": ["hi"]}', 400, None, "'messages' has to be"),
        (b'{"messages": [{"role": "user", "content": "hi"}]}', 400, None, "'model' has to be"),
        (chat_body("hi", model="gpt"), 404, "model_not_found", "'gpt' does not exist; this server has practice"),
        (chat_body("hi", n=2), 400, None, "'n' is 2"),
        (chat_body("hi", max_tokens=0), 400, None, "'max_tokens' is 0"),
        (chat_body("hi", max_tokens="many"), 400, None, "'max_tokens' is 'many'"),
        (chat_body("hi", stop=[1]), 400, None, "'stop' has to be"),
        (chat_body("hi", tool_choice="required"), 400, None, "there are no tools"),
        (chat_body("hi", tool_choice={"function": {"name": "x"}}), 400, None, "'tool_choice' names 'x'"),
    ],
)
def test_refused_bodies(body, status, code, says):
    found_status, found_code, error = refusal(make_service(), body)
    assert (found_status, found_code) == (status, code)
    assert says in error["message"]
    assert error["type"] == "invalid_request_error"


def test_context_limit():
    status, code, error = refusal(make_service(context_limit=100), chat_body(words(97)))
    assert (status, code) == (400, "context_length_exceeded")
    assert "maximum context length is 100 tokens. However, your messages resulted in 100 tokens" in error["message"]
    assert Client(make_service(context_limit=100)).call(chat_body(words(96)))["usage"]["completion_tokens"] == 1


def test_context_is_shared_by_slots():
    options = {"rule": "slots", "slots": 4, "context_tokens": 400}
    service = make_service(lambda: SlotCache(4, 100), **options)
    status, code, error = refusal(service, chat_body(words(98)))
    assert (status, code, error["n_prompt_tokens"], error["n_ctx"]) == (400, "context_length_exceeded", 101, 100)
    assert "(context of 400 over 4 slots)" in error["message"]


@pytest.mark.parametrize(
    ("headers", "let_in"),
    [
        ({"authorization": "Bearer secret"}, True),
        ({"authorization": "Bearer wrong"}, False),
        ({"authorization": "secret"}, False),
        ({}, False),
    ],
)
def test_key(headers, let_in):
    service = make_service(api_key="secret")
    if let_in:
        assert Client(service).accept(chat_body("hi"), headers).job.cached_tokens == 0
    else:
        assert refusal(service, chat_body("hi"), headers)[:2] == (401, "invalid_api_key")


def test_requests_per_minute():
    client = Client(make_service(rpm_limit=2))
    client.call(chat_body("hi"))
    client.call(chat_body("hi"))
    with pytest.raises(Refused) as caught:
        client.call(chat_body("hi"))
    # Calls at 1, 2 and 3 s: the first place is free again at 61 s.
    assert (caught.value.status, caught.value.code, caught.value.retry_after) == (429, "rate_limit_exceeded", 58)
    client.now = 60.5
    client.call(chat_body("hi"))


def test_refusals_by_fault_strike_every_kth_call():
    client = Client(make_service(faults=(parse_fault("429:every=3,retry_after=7"), parse_fault("500:every=4"))))
    found = []
    for _ in range(8):
        try:
            client.call(chat_body("hi"))
            found.append((200, None))
        except Refused as refused:
            found.append((refused.status, refused.retry_after))
    ok = (200, None)
    assert found == [ok, ok, (429, 7), (500, None), ok, (429, 7), ok, (500, None)]


def test_reset_starts_again():
    client = Client(make_service(faults=(parse_fault("500:every=2"),)))
    first = client.call(chat_body(words(40)))
    client.service.reset()
    assert client.call(chat_body(words(40))) == first
    assert client.service.calls == 1
