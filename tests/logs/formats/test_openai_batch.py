from __future__ import annotations

import json

import pytest
from exports import PROMPTS, answer, batch_request, batch_result, body, lines
from log_files import opened, read

REQUESTS = [batch_request(turn) for turn in range(3)]
RESULTS = [batch_result(turn) for turn in range(3)]


@pytest.mark.parametrize(
    "records",
    [
        [*REQUESTS, *RESULTS],
        [*REQUESTS, *reversed(RESULTS)],
        [*RESULTS, *REQUESTS],
        [*RESULTS[1:], *REQUESTS, *RESULTS],
    ],
    ids=["requests first", "results in another order", "results first", "a result twice"],
)
def test_requests_and_results_are_joined_in_the_order_of_the_requests(tmp_path, records):
    log = opened(tmp_path, lines(records))
    calls = list(log)
    assert log.format == "openai-batch"
    assert [json.loads(call.body) for call in calls] == [body(turn) for turn in range(3)]
    assert [call.usage.prompt_tokens for call in calls] == list(PROMPTS[:3])
    assert {call.raw_usage["service_tier"] for call in calls} == {"batch"}
    assert log.records().remarks == ()
    assert log.records().repeated == len(records) - 6


def test_either_file_alone(tmp_path):
    asked, _ = read(tmp_path, lines(REQUESTS))
    answered, _ = read(tmp_path, lines(RESULTS))
    assert [(bool(call.body), call.usage.prompt_tokens) for call in asked] == [(True, None)] * 3
    assert [(bool(call.body), call.usage.prompt_tokens) for call in answered] == [
        (False, prompt) for prompt in PROMPTS[:3]
    ]


def test_a_request_without_a_result_among_others(tmp_path):
    calls, records = read(tmp_path, lines([*REQUESTS, *RESULTS[:2]]))
    assert [call.usage.prompt_tokens for call in calls] == [*PROMPTS[:2], None]
    assert [(remark.line, remark.what) for remark in records.remarks] == [
        (3, "1 record left out: requests without a result in the file are read without usage")
    ]


@pytest.mark.parametrize(
    ("result", "status", "error"),
    [
        ({"response": None, "error": {"code": "batch_expired", "message": "not executed in time"}}, None,
         "not executed in time"),
        ({"response": {"status_code": 400, "body": {"error": {"message": "too long", "type": "invalid"}}}}, 400,
         "too long (invalid)"),
        ({"response": {"status_code": 500, "body": {}}}, 500, "status 500"),
    ],
)  # fmt: skip
def test_what_failed(tmp_path, result, status, error):
    (call,), _ = read(tmp_path, lines([batch_request(0), batch_result(0, **result)]))
    assert (call.status, call.error, call.usage.prompt_tokens) == (status, error, None)


def test_batches_of_anthropic(tmp_path):
    message = {
        "type": "message", "role": "assistant", "content": [{"type": "text", "text": "ok"}], "model": "claude-opus-4-5",
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 700, "cache_creation_input_tokens": 90,
                  "output_tokens": 5},
    }  # fmt: skip
    params = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    records = [
        {"custom_id": "a", "params": params},
        {"custom_id": "b", "params": params},
        {"custom_id": "a", "result": {"type": "succeeded", "message": message}},
        {"custom_id": "b", "result": {"type": "expired"}},
    ]
    calls, _ = read(tmp_path, lines(records))
    assert [(call.dialect, call.usage.prompt_tokens, call.error) for call in calls] == [
        ("anthropic-messages", 800, None),
        ("anthropic-messages", None, "the request expired"),
    ]


def test_requests_that_generate_nothing_are_counted_and_left_out(tmp_path):
    embedding = batch_request(1, url="/v1/embeddings", body={"model": "e", "input": "text"})
    calls, records = read(tmp_path, lines([batch_request(0), embedding]))
    assert len(calls) == 1
    assert [remark.what for remark in records.remarks] == [
        "1 record left out: requests to /v1/embeddings, which generate nothing"
    ]


def test_damaged_lines_among_good_ones(tmp_path):
    data = lines([batch_request(0)]) + b'{"custom_id": "x", "body": {\n{"body": {}}\n[]\n' + lines([batch_result(0)])
    (call,), records = read(tmp_path, data)
    assert (json.loads(call.body), call.usage.prompt_tokens) == (body(0), answer(0)["usage"]["prompt_tokens"])
    assert [(one.line, one.reason) for one in records.skipped][1:] == [
        (3, "an object without custom_id, expected a line of a batch"),
        (4, "an array without custom_id, expected a line of a batch"),
    ]
