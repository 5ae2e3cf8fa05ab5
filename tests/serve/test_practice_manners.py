"""What a vendor's preset changes: the spelling of usage, knobs, refusals, errors, keys, and which options win."""

from __future__ import annotations

import json

import msgspec
import pytest
from practice_fakes import Caller, chat_body, options_as, words

from hitrate.errors import UsageError
from hitrate.serve.practice.caches import rule_text
from hitrate.serve.practice.options import PracticeModel, PracticeOptions
from hitrate.serve.practice.vendors import imitating, vendor, vendor_names
from hitrate.serve.practice.wire import Refused

ALL = vendor_names()


def chat(caller, body, headers=()):
    return caller.send("/v1/chat/completions", body, headers)


def usage_of(caller, body, headers=()):
    return msgspec.json.decode(chat(caller, body, headers)[1])["usage"]


def model_of(name):
    return vendor(name).models[0].name


@pytest.mark.parametrize(
    ("name", "members", "usage"),
    [
        (
            "deepseek",
            {},
            {
                "prompt_tokens_details": {"cached_tokens": 0},
                "prompt_cache_hit_tokens": 0,
                "prompt_cache_miss_tokens": 4,
            },
        ),
        ("moonshot", {}, {"cached_tokens": 0}),
        ("mistral", {}, {"num_cached_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}}),
        ("vllm", {}, {"prompt_tokens_details": None}),
        ("sglang", {}, {"prompt_tokens_details": None}),
        ("together", {}, {}),
        ("ollama", {}, {}),
        ("openai", {}, {"prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}}),
        ("openrouter", {}, {"prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}}),
        (
            "dashscope",
            {},
            {
                "prompt_tokens_details": {
                    "cached_tokens": 0,
                    "cache_creation_input_tokens": 0,
                    "cache_creation": {"ephemeral_5m_input_tokens": 0},
                }
            },
        ),
    ],
)
def test_spelling_of_usage(name, members, usage):
    found = usage_of(
        Caller(options_as(name)), chat_body("hi", model=model_of(name), max_completion_tokens=3, **members)
    )
    assert found == {"prompt_tokens": 4, "completion_tokens": 3, "total_tokens": 7, **usage}


def test_what_stands_beside_usage():
    groq = msgspec.json.decode(
        chat(Caller(options_as("groq")), chat_body("hi", model=model_of("groq"), max_tokens=2))[1]
    )
    # 15 ms and 4 tokens at 2,500 a second; one token behind the first at 100 a second.
    assert {name: groq["usage"][name] for name in ("queue_time", "prompt_time", "completion_time", "total_time")} == {
        "queue_time": 0,
        "prompt_time": 0.0166,
        "completion_time": 0.01,
        "total_time": 0.0266,
    }
    assert groq["x_groq"]["usage"]["prompt_tokens_details"] == {"cached_tokens": 0}
    fireworks = Caller(options_as("fireworks"))
    asked = {"model": model_of("fireworks"), "max_tokens": 2}
    assert "perf_metrics" not in msgspec.json.decode(chat(fireworks, chat_body("hi", **asked))[1])
    told = msgspec.json.decode(chat(fireworks, chat_body("hi", perf_metrics_in_response=True, **asked))[1])
    assert told["perf_metrics"] == {
        "prompt-tokens": "4",
        "cached-prompt-tokens": "0",
        "server-time-to-first-token": "0.0166",
    }


def test_a_flag_turns_counts_on_only_where_the_engine_has_one():
    for name, told in (("vllm", {"cached_tokens": 0}), ("together", None)):
        usage = usage_of(Caller(options_as(name, cache_report=True)), chat_body("hi", model=model_of(name)))
        assert usage.get("prompt_tokens_details") == told


@pytest.mark.parametrize(
    ("name", "knob", "has_effect"),
    [
        ("fireworks", {"prompt_cache_isolation_key": "x"}, True),
        ("fireworks", {"cache_salt": "x"}, False),
        ("vllm", {"cache_salt": "x"}, True),
        ("vllm", {"extra_key": "x"}, False),
        ("sglang", {"extra_key": "x"}, True),
        ("llamacpp", {"cache_prompt": False}, True),
        ("deepseek", {"cache_salt": "x"}, False),
        ("openai", {"prompt_cache_options": {"mode": "explicit"}}, True),
        ("openai", {"reasoning_effort": "high"}, True),
        ("openai", {"prompt_cache_key": "x"}, False),
    ],
)
def test_knobs_that_keep_a_call_cold(name, knob, has_effect):
    caller = Caller(options_as(name, minimum_tokens=0) if name == "openai" else options_as(name))
    ask = {"model": model_of(name), "max_completion_tokens": 1}
    chat(caller, chat_body(words(1500), **ask))
    caller.now = 60.0
    again = chat(caller, chat_body(words(1500), **ask, **knob))[0].cached_tokens
    assert (again == 0) is has_effect


@pytest.mark.parametrize(
    ("name", "members", "headers", "affinity"),
    [
        ("fireworks", {"prompt_cache_key": "a", "user": "b"}, {"x-session-affinity": "c"}, "a"),
        ("fireworks", {"user": "b"}, {"x-session-affinity": "c"}, "b"),
        ("fireworks", {}, {"x-session-affinity": "c"}, "c"),
        ("fireworks", {}, {"x-session-id": "c"}, None),
        ("xai", {"prompt_cache_key": "a"}, {}, None),
        ("xai", {}, {"x-grok-conv-id": "a"}, "a"),
        ("openrouter", {"session_id": "a"}, {"x-session-id": "b"}, "a"),
        ("crusoe", {"prompt_cache_key": "a", "user": "b"}, {"x-session-id": "c"}, None),
        ("moonshot", {"prompt_cache_key": "a"}, {}, None),
    ],
)
def test_knobs_that_name_a_session(name, members, headers, affinity):
    accepted = Caller(options_as(name)).accept(
        "/v1/chat/completions", chat_body("hi", model=model_of(name), **members), headers
    )
    assert accepted.job.visit.request.affinity == affinity


def test_mistral_caches_for_a_key_alone():
    caller = Caller(options_as("mistral"))
    ask = {"model": model_of("mistral"), "max_tokens": 1}
    bodies = [chat_body(words(200), **ask)] * 2 + [chat_body(words(200), prompt_cache_key="a", **ask)] * 2
    assert [chat(caller, body)[0].cached_tokens for body in bodies] == [0, 0, 0, 192]


def refusal(caller, path, body, headers=()):
    with pytest.raises(Refused) as caught:
        caller.accept(path, body, headers)
    wire, _ = caller.wires.find(path)
    return caught.value.status, msgspec.json.decode(wire.error(caught.value))


@pytest.mark.parametrize(
    ("name", "members", "status", "error"),
    [
        (
            "mistral",
            {"stream_options": {"include_usage": True}},
            422,
            {
                "object": "error",
                "message": "Extra inputs are not permitted: stream_options",
                "type": "invalid_request_message_error",
                "param": "stream_options",
                "code": None,
            },
        ),
        (
            "openai",
            {"temperature": 0},
            400,
            {
                "error": {
                    "message": "Unsupported value: 'temperature' does not support this value with this model. Only the "
                    "default (1) value is supported.",
                    "type": "invalid_request_error",
                    "param": "temperature",
                    "code": "unsupported_value",
                }
            },
        ),
        ("openai", {"temperature": 1}, None, None),
    ],
)
def test_members_that_a_vendor_refuses(name, members, status, error):
    caller = Caller(options_as(name))
    body = chat_body("hi", model=model_of(name), **members)
    if status is None:
        assert caller.accept("/v1/chat/completions", body).job.cached_tokens == 0
    else:
        assert refusal(caller, "/v1/chat/completions", body) == (status, error)


MISSING = "The model 'x' does not exist; this server has "


@pytest.mark.parametrize(
    ("name", "path", "error"),
    [
        (
            "openai",
            "/v1/chat/completions",
            {
                "error": {
                    "message": MISSING + "gpt-5.6-luna",
                    "type": "invalid_request_error",
                    "param": "model",
                    "code": "model_not_found",
                }
            },
        ),
        (
            "vllm",
            "/v1/chat/completions",
            {
                "error": {
                    "message": MISSING + "openai/gpt-oss-120b",
                    "type": "invalid_request_error",
                    "param": "model",
                    "code": 404,
                }
            },
        ),
        ("xai", "/v1/chat/completions", {"code": "model_not_found", "error": MISSING + "grok-4-0709"}),
        (
            "anthropic",
            "/v1/messages",
            {
                "type": "error",
                "error": {"type": "not_found_error", "message": MISSING + "claude-sonnet-5"},
                "request_id": None,
            },
        ),
        (
            "gemini",
            "/v1beta/models/x:generateContent",
            {"error": {"code": 404, "message": MISSING + "gemini-3-flash-preview", "status": "NOT_FOUND"}},
        ),
        ("bedrock", "/model/x/converse", {"message": MISSING + "global.anthropic.claude-sonnet-5-v1:0"}),
    ],
)
def test_a_model_that_is_not_there(name, path, error):
    body = {
        "model": "x",
        "max_tokens": 3,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "contents": [{"parts": [{"text": "hi"}]}],
    }
    body = {**body, "max_tokens": None, "max_completion_tokens": 3} if name == "openai" else body
    assert refusal(Caller(options_as(name)), path, json.dumps(body).encode()) == (404, error)


@pytest.mark.parametrize("name", ALL)
def test_keys(name):
    """Any key will do where the vendor wants one; the server's own has to be right where it was given one."""
    path = {"anthropic": "/v1/messages", "bedrock": "/model/x/converse", "gemini": "/v1beta/models/x:generateContent"}
    path = path.get(name, "/v1/chat/completions")
    without = {"authorization": ""}
    caller = Caller(options_as(name))
    status, _ = refusal(caller, path, b"{}", without)
    assert status == (401 if vendor(name).key_required else 400)
    for headers in (
        {},
        {"x-api-key": "k"},
        {"x-goog-api-key": "k"},
        {"authorization": "AWS4-HMAC-SHA256 Credential=AK/d"},
    ):
        if refusal(caller, path, b"{}", {**without, **headers})[0] == 400:
            break
    else:
        assert refusal(caller, path, b"{}")[0] == 400
    locked = Caller(options_as(name, api_key="right"))
    assert refusal(locked, path, b"{}", {"authorization": "Bearer wrong"})[0] == 401
    assert refusal(locked, path, b"{}", {"authorization": "Bearer right"})[0] == 400


@pytest.mark.parametrize(
    ("name", "given", "rule"),
    [
        ("crusoe", {}, "block-chain (block 64)"),
        ("crusoe", {"block_size": 128}, "block-chain (block 128)"),
        ("crusoe", {"rule": "block-chain"}, "block-chain (block 16)"),
        ("anthropic", {}, "anthropic-2026-11 (at least 1,024 tokens, look-back 20)"),
        (
            "anthropic",
            {"models": (PracticeModel("claude-opus-5"),)},
            "anthropic-2026-11 (at least 512 tokens, look-back 20)",
        ),
        ("anthropic", {"minimum_tokens": 10}, "anthropic-2026-11 (at least 10 tokens, look-back 20)"),
        ("deepseek", {}, "deepseek-2026-11 (at least 64 tokens, written after 6 s)"),
        ("deepseek", {"write_delay_ms": 0.0}, "deepseek-2026-11 (at least 64 tokens)"),
    ],
)
def test_what_was_given_wins(name, given, rule):
    assert rule_text(options_as(name, **given)) == rule


def test_an_unknown_name_is_answered_with_the_list():
    with pytest.raises(
        UsageError, match=r"--as antropic: there is no such preset; nearest: anthropic; known: anthropic, azure"
    ):
        imitating("antropic", PracticeOptions(), ())
