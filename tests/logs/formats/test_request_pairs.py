from __future__ import annotations

import json

import pytest
from log_files import chat, jsonl, read

from hitrate.logs.answered import host_of

BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
USAGE = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 64}}


@pytest.mark.parametrize(
    "record",
    [
        {"body": BODY, "response": {"usage": USAGE}},
        {"request": BODY, "response": {"usage": USAGE}},
        {"request": {"url": "/v1/chat/completions", "body": BODY}, "response": {"body": {"usage": USAGE}}},
        {"request": json.dumps(BODY), "response": json.dumps({"usage": USAGE})},
        {**BODY, "response": {"usage": USAGE}},
        {**BODY, "usage": USAGE},
        {"model": "m", "usage": USAGE},
        {"custom_id": "1", "response": {"status_code": 200, "body": {"model": "m", "usage": USAGE}}},
    ],
)
def test_the_usual_wrappings(tmp_path, record):
    (call,), records = read(tmp_path, jsonl(record))
    assert (call.model, call.dialect) == ("m", "openai-chat")
    assert (call.usage.prompt_tokens, call.usage.cached_tokens, call.usage.output_tokens) == (100, 64, 5)
    assert (records.read, records.used) == (1, 1)


@pytest.mark.parametrize(
    "asked", [{"prompt": "hi"}, {"prompt": ["hi"]}, {"prompt": [1, 2]}, {"prompt_token_ids": [1, 2]}]
)
@pytest.mark.parametrize(
    "answered",
    [
        {"usage": USAGE},
        {"choices": [{"index": 0, "text": "Hi", "finish_reason": "stop"}], "usage": USAGE},
        {"timings": {"cache_n": 64, "prompt_n": 36, "predicted_n": 5}},
    ],
)
@pytest.mark.parametrize("api", [{}, {"api": "openai-chat"}, {"api": "openai-completions"}])
def test_a_rendered_prompt_is_told_by_the_request(tmp_path, asked, answered, api):
    (call,), records = read(tmp_path, jsonl({**api, "body": {"model": "m", **asked}, "response": answered}))
    assert call.dialect == "llamacpp-completion"
    assert (call.usage.prompt_tokens, call.usage.cached_tokens, call.usage.output_tokens) == (100, 64, 5)
    assert records.remarks == ()


def test_a_format_of_no_known_name_is_told_by_its_shape(tmp_path):
    calls, _ = read(tmp_path, jsonl(*({"api": "openai-completions", **one} for one in (chat(9, 4), {"body": BODY}))))
    assert [call.dialect for call in calls] == ["openai-chat", "openai-chat"]


def test_a_body_keeps_its_bytes(tmp_path):
    body = b'{"model":"m",  "messages":[{"role":"user","content":"\\u00e9 \\ud83d"}] }'
    (call,), records = read(tmp_path, b'{"body":  ' + body + b', "response": {"usage": NaN}}\n')
    assert call.body == body
    assert call.usage.prompt_tokens is None
    assert "/usage is a number, expected an object" in records.remarks[-1].what


def test_request_bodies_alone(tmp_path):
    calls, records = read(tmp_path, jsonl(BODY, {"model": "g", "contents": [{"role": "user", "parts": []}]}))
    assert [(call.model, call.dialect, call.usage.prompt_tokens) for call in calls] == [
        ("m", "openai-chat", None),
        ("g", "gemini-generate", None),
    ]
    assert json.loads(calls[0].body) == BODY
    assert records.damaged == 0


@pytest.mark.parametrize(
    ("at", "unix"),
    [
        ("2026-11-01T12:00:00Z", 1793534400.0),
        ("2026-11-01T13:00:00+01:00", 1793534400.0),
        ("2026-11-01 12:00:00", 1793534400.0),
        (1793534400, 1793534400.0),
        (1793534400000, 1793534400.0),
        (1793534400000000000, 1793534400.0),
        (17, None),
        ("yesterday", None),
        (True, None),
    ],
)
def test_times(tmp_path, at, unix):
    (call,), records = read(tmp_path, jsonl(chat(10, 0, at=at)))
    assert (call.timing.at if call.timing else None) == unix
    assert bool(records.remarks) == (unix is None)


def test_a_damaged_record_names_what_is_wrong_and_the_others_are_used(tmp_path):
    wrong = {"body": {"model": ["m"], "messages": {"role": "user"}, "tools": "none"}, "response": {"usage": USAGE}}
    data = jsonl(chat(10, 0), wrong, [1], {"body": None}, {"x": 1}, chat(20, 10))
    calls, records = read(tmp_path, data)
    assert [call.usage.prompt_tokens for call in calls] == [10, 20]
    assert [(skipped.line, skipped.reason) for skipped in records.skipped] == [
        (
            2,
            "/body/model is an array, expected a string; /body/messages is an object, expected an array; "
            "/body/tools is a string, expected an array",
        ),
        (3, "the record is an array, expected an object"),
        (4, "/body is null, expected an object"),
        (5, "the record has neither a request (body, request) nor a response"),
    ]
    assert (records.read, records.used, records.damaged) == (6, 2, 4)


def test_the_same_line_again_counts_once_where_the_answer_has_an_id(tmp_path):
    named = chat(10, 0)
    named["response"]["id"] = "chatcmpl-1"
    calls, records = read(tmp_path, jsonl(named, named, chat(10, 0), chat(10, 0)))
    assert len(calls) == 3
    assert (records.read, records.used, records.repeated) == (4, 3, 1)


def test_an_error_reply_is_no_call_with_zero_tokens(tmp_path):
    (call,), records = read(tmp_path, jsonl(chat(1, 0, response={"status": 529, "error": {"message": "overloaded"}})))
    assert (call.status, call.error, call.usage.prompt_tokens) == (529, "overloaded", None)
    assert records.damaged == 0


def test_keys_in_headers_are_dropped(tmp_path):
    (call,), _ = read(tmp_path, jsonl(chat(1, 0, headers={"Authorization": "Bearer x", "X-Session-Affinity": "s"})))
    assert call.headers == {"x-session-affinity": "s"}


def test_batch_results_are_billed_as_such(tmp_path):
    (call,), _ = read(tmp_path, jsonl({"custom_id": "1", "response": {"body": {"model": "m", "usage": USAGE}}}))
    assert call.raw_usage["service_tier"] == "batch"


def test_counters_of_a_stream_are_running_totals(tmp_path):
    usage = {"input_tokens": 288, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 5120}
    events = [
        {"type": "message_start", "message": {"id": "a", "usage": {**usage, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Booked"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {**usage, "output_tokens": 52}},
        {"type": "message_stop"},
    ]
    (call,), _ = read(tmp_path, jsonl(chat(1, 0, response={"events": events})))
    assert (call.dialect, call.usage.prompt_tokens, call.usage.cached_tokens) == ("anthropic-messages", 5408, 5120)
    assert call.usage.output_tokens == 52


@pytest.mark.parametrize(
    ("more", "total_s", "remark"),
    [
        ({"done": "2026-11-01T12:00:02.5Z"}, 2.5, None),
        ({"completed_at": 1793534403}, 3.0, None),
        ({}, None, None),
        ({"done": True}, None, None),
        ({"done": "later"}, None, "/done is 'later', expected a time; it is taken as not known"),
        (
            {"done": "2026-11-01T11:59:59Z"},
            None,
            "the record was done before it began; when it was done is taken as not known",
        ),
    ],
)
def test_when_it_was_done(tmp_path, more, total_s, remark):
    (call,), records = read(tmp_path, jsonl(chat(10, 0, **more)))
    assert call.timing.total_s == total_s
    assert [one.what for one in records.remarks] == ([remark] if remark else [])


@pytest.mark.parametrize(
    ("more", "session"),
    [
        ({"session": "a"}, "a"),
        ({"session_id": 7}, "7"),
        ({"conversation_id": "c"}, "c"),
        ({"session": "a", "session_id": "b"}, "a"),
        ({"trace_id": "t", "metadata": {"session": "m"}, "user": "u"}, ""),
        ({"session": True}, ""),
    ],
)
def test_only_what_is_named_a_session_is_one(tmp_path, more, session):
    (call,), _ = read(tmp_path, jsonl(chat(10, 0, **more)))
    assert call.session == session


@pytest.mark.parametrize(
    ("response", "headers", "host"),
    [
        ({"provider": "Parasail"}, {"provider": "Parasail"}, "Parasail"),
        ({"region": "eu-1", "host": "gpu-7"}, {"host": "gpu-7", "region": "eu-1"}, "gpu-7"),
        ({"system_fingerprint": "fp_1"}, {"system_fingerprint": "fp_1"}, "fp_1"),
        ({"perf_metrics": {"backend-host": "b3"}}, {"backend-host": "b3"}, "b3"),
        ({"headers": {"X-Served-By": "r2", "Set-Cookie": "secret"}}, {"x-served-by": "r2"}, "r2"),
        ({"request_id": "req_1"}, {"request-id": "req_1"}, None),
        ({"provider": None, "host": ["a"]}, {}, None),
    ],
)
def test_who_answered(tmp_path, response, headers, host):
    (call,), _ = read(tmp_path, jsonl(chat(10, 0, response={"usage": USAGE, **response})))
    assert call.response_headers == headers
    assert host_of(call) == host


def test_headers_in_the_wrapping_of_request_and_response(tmp_path):
    record = {
        "request": {"headers": {"Anthropic-Beta": "b"}, "body": BODY},
        "response": {"headers": {"request-id": "r"}, "body": {"usage": USAGE}},
    }
    (call,), _ = read(tmp_path, jsonl(record))
    assert (call.headers, call.response_headers) == ({"anthropic-beta": "b"}, {"request-id": "r"})


REASON = {"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 900}}
START = {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 5}, "diagnostics": REASON}}


@pytest.mark.parametrize(
    ("response", "diagnosis"),
    [
        ({"diagnostics": REASON}, REASON),
        ({"cache_diagnostics": REASON}, REASON),
        ({"prompt_cache_diagnostics": {"type": "cache_miss"}}, {"type": "cache_miss"}),
        ({"events": [START, {"type": "message_stop"}]}, REASON),
        ({"events": [{"type": "response.completed", "response": {"prompt_cache_diagnostics": REASON}}]}, REASON),
        ({"diagnostics": None}, None),
        ({}, None),
    ],
)
def test_the_diagnosis_of_the_vendor(tmp_path, response, diagnosis):
    (call,), _ = read(tmp_path, jsonl(chat(10, 0, response=response)))
    assert call.diagnosis == diagnosis
