"""Every preset: hitrate's own reading of its replies is what the server did, and its knobs, lists and refusals."""

from __future__ import annotations

import json
import tomllib
from importlib import resources

import msgspec
import pytest
from practice_fakes import Caller, chat_body, options_as, words

from hitrate.caches.breakpoints import BreakpointLease
from hitrate.core.sse import split_events
from hitrate.errors import UsageError
from hitrate.serve.practice.caches import cache_maker, cache_model, rule_text
from hitrate.serve.practice.figures import TEXT, figure_names
from hitrate.serve.practice.model_lists import SPELLINGS
from hitrate.serve.practice.options import PracticeModel, PracticeOptions
from hitrate.serve.practice.vendors import imitating, vendor, vendor_names
from hitrate.serve.practice.wire import Refused
from hitrate.serve.practice.wires import wire_names
from hitrate.targets.dialects import aws_eventstream, dialect
from hitrate.targets.models import parse_models
from hitrate.targets.presets import all_names

ALL = vendor_names()
WIRES = [(name, wire) for name in ALL for wire in vendor(name).wires]
MARKER = {"cache_control": {"type": "ephemeral"}}


def read(wire, data, streamed):
    """The reading of hitrate's client side."""
    spoken = dialect(wire)
    if not streamed:
        return spoken.read_body(data)
    split = aws_eventstream.split_events if spoken.framing == "aws-eventstream" else split_events
    return spoken.read_stream(split([(0, 0, data)]))


def ask(caller, wire, messages, *, streamed=False, headers=(), **how):
    """What the server did, and what the client reads of it."""
    spoken = dialect(wire)
    model = caller.service.options.models[0].name
    refused = {refusal.member for refusal in caller.service.vendor.refuses}
    extra = {"stream_options": None} if "stream_options" in refused else {}
    body = spoken.build(
        model=model, messages=messages, stream=streamed, **{"extra": extra or None, "max_tokens": None, **how}
    )
    path = spoken.request_path(model, streamed)
    job, data = caller.send(path, body, {"anthropic-version": "2023-06-01", **dict(headers)})
    return job, read(wire, data, streamed)


def opening(name, wire):
    """A long first message, marked where the wire has no marks of its own but the rule wants them."""
    content = words(3000)
    if wire == "openai-chat" and cache_model(options_as(name)) == "marked":
        content = [{"type": "text", "text": content, **MARKER}]
    return {"role": "user", "content": content}


@pytest.mark.parametrize("streamed", [False, True], ids=["body", "stream"])
@pytest.mark.parametrize(("name", "wire"), WIRES)
def test_hitrate_reads_back_what_the_server_did(name, wire, streamed):
    caller = Caller(options_as(name, cache_report=True))
    messages = [opening(name, wire)]
    found = []
    for question in ("first", "second"):
        # Some vendors cache for a session with a key alone.
        key = {"prompt_cache_key": "s"} if "body:prompt_cache_key" in vendor(name).affinity else {}
        extra = {**key, **({"stream_options": None} if name == "mistral" else {})}
        job, reading = ask(caller, wire, messages, streamed=streamed, extra=extra)
        assert (reading.fault, reading.complete) == (None, True)
        usage = reading.usage
        is_told = wire != "openai-chat" or vendor(name).details == "full" or vendor(name).details_flag
        cached = job.cached_tokens if is_told else None
        if wire == "gemini-generate" and not cached:
            cached = None  # the API leaves the field out
        if wire == "openai-chat" and not vendor(name).usage:
            cached = None
        writes = wire != "openai-chat" or "written" in vendor(name).usage.values()
        written = job.lease.written_tokens if writes and isinstance(job.lease, BreakpointLease) else None
        assert (usage.prompt_tokens, usage.cached_tokens, usage.written_tokens) == (job.prompt_tokens, cached, written)
        assert usage.output_tokens == 32
        assert not usage.accounting_fault
        found.append(job.cached_tokens)
        messages += [reading.reply.message, {"role": "user", "content": question}]
        caller.now += 60.0
    # The whole rule is held elsewhere; here it must be one that caches at all.
    only_objects = cache_model(caller.service.options) == "objects"
    assert found[0] == 0
    assert found[1] == 0 if only_objects else found[1] > 2000


@pytest.mark.parametrize("streamed", [False, True], ids=["body", "stream"])
@pytest.mark.parametrize(("name", "wire"), [pair for pair in WIRES if pair[1] != "llamacpp-completion"])
def test_tool_calls_and_reasoning_come_back_on_every_wire(name, wire, streamed):
    tool = {"type": "function", "function": {"name": "find", "parameters": {"properties": {"id": {"type": "string"}}}}}
    options = options_as(name, tool_calls=True)
    caller = Caller(options)
    messages = [{"role": "user", "content": "where?"}]
    _, reading = ask(caller, wire, messages, streamed=streamed, tools=[tool])
    [call] = reading.reply.tool_calls
    assert call["function"] == {"name": "find", "arguments": call["function"]["arguments"]}
    assert json.loads(call["function"]["arguments"]) == {"id": "practice"}
    messages += [reading.reply.message, {"role": "tool", "tool_call_id": call["id"], "content": "here"}]
    _, reading = ask(caller, wire, messages, streamed=streamed, tools=[tool])
    # A tool's result is answered with text.
    assert reading.reply.tool_calls == ()
    assert len(reading.reply.text.split()) == 32


@pytest.mark.parametrize("name", ALL)
def test_presets_are_whole(name):
    found = vendor(name)
    assert set(found.wires) <= set(wire_names())
    assert found.source.startswith("https://") and len(found.date) == 10
    assert found.model_list in SPELLINGS
    figures = [
        *found.usage.values(),
        *found.headers.values(),
        *(f for t in found.usage_when_asked.values() for f in t.values()),
    ]
    assert {figure.removesuffix(TEXT) for figure in figures} <= figure_names()
    assert all(knob.partition(":")[0] in ("body", "header") and knob == knob.lower() for knob in found.affinity)
    options = options_as(name)
    options.check()
    cache_maker(options)
    # Rules that are the practice server's own stand in for one that is not published, and the note says so.
    assert options.rule not in ("block-chain", "longest-prefix") or found.note


def test_every_target_can_be_imitated(tmp_path):
    assert set(all_names(tmp_path / "none.toml")) - {"practice"} <= set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_model_lists_are_read_back_with_their_prices(name):
    from starlette.testclient import TestClient

    from hitrate.serve.practice.app import PracticeApp

    options = options_as(name, models=(PracticeModel("m", 3.0, 0.3, 3.75, 15.0),))
    client = TestClient(PracticeApp(options, None, cache_maker(options)))
    listed = "language-models" if vendor(name).model_list == "xai" else "models"
    reply = client.get(
        f"{vendor(name).base_path}/{listed}", headers={"authorization": "Bearer any", "x-api-key": "any"}
    )
    [model] = parse_models(reply.content)
    assert model.id.removeprefix("models/") == "m"
    price = model.price
    prices = (price.input_usd_per_mtok, price.cached_usd_per_mtok, price.output_usd_per_mtok)
    is_priced = vendor(name).model_list in ("crusoe", "openrouter", "together", "baseten", "xai")
    assert prices == ((3.0, 0.3, 15.0) if is_priced else (None, None, None))


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


def test_presets_hold_no_member_twice():
    for file in resources.files("hitrate.serve.practice").joinpath("presets").iterdir():
        tomllib.loads(file.read_text())
