from __future__ import annotations

import base64
import json

import pytest
from exports import KEY, PROMPTS, START, answer, body, event_stream, har, har_entry
from log_files import opened, read


def one(tmp_path, entry):
    calls, records = read(tmp_path, har([entry]))
    assert (len(calls), records.damaged) == (1, 0), records
    return calls[0], [remark.what for remark in records.remarks]


def changed(**members):
    """An entry with other members of its response's content."""
    entry = har_entry(0)
    entry["response"]["content"] = members
    return entry


def test_an_entry(tmp_path):
    call, remarks = one(tmp_path, har_entry(0))
    assert (call.target, call.dialect, call.model, call.status) == ("openai", "openai-chat", "gpt-5.2", 200)
    assert call.timing.at == pytest.approx(START + 0.1)  # after being blocked and sent
    assert (call.timing.headers_s, call.timing.total_s, call.timing.ttft_s) == (0.4, 2.5, None)
    assert (call.usage.prompt_tokens, call.usage.cached_tokens, call.usage.output_tokens) == (PROMPTS[0], 0, 30)
    assert (json.loads(call.body), call.reply.text) == (body(0), "Answer 0: the long one.")
    assert (call.session, call.headers, call.response_headers) == (
        "s-1",
        {"x-session-id": "s-1"},
        {"x-request-id": "req-0"},
    )
    assert remarks == []


def test_the_bytes_of_the_request_are_those_that_were_sent(tmp_path):
    entry = har_entry(0)
    entry["request"]["postData"]["text"] = sent = '{"model" : "m",  "messages":[{"role":"user","content":"\\u00e9"}]}'
    call, _ = one(tmp_path, entry)
    assert call.body == sent.encode()


@pytest.mark.parametrize(
    "content",
    [
        {"text": base64.b64encode(event_stream(0)).decode(), "encoding": "base64"},
        {"text": json.dumps(answer(0))},
        {"text": "\ufeff: keep-alive\r\n\r\n" + event_stream(0).decode().replace("\n", "\r\n")},
    ],
    ids=["base64", "JSON", "CRLF and comments"],
)
def test_answers_in_every_form(tmp_path, content):
    call, remarks = one(tmp_path, changed(**content))
    assert (call.usage.prompt_tokens, call.usage.cached_tokens, remarks) == (PROMPTS[0], 0, [])


@pytest.mark.parametrize(
    ("content", "remarks"),
    [
        ({}, []),
        ({"size": 900, "text": "", "comment": "evicted"}, []),
        ({"text": "!", "encoding": "base64"}, []),
        ({"text": '{"id": "chatcmpl-0", "usage": {'},
         ["the answer is no JSON and no stream of events that is known here, or is cut off"]),
    ],
)  # fmt: skip
def test_answers_that_are_not_kept_leave_the_usage_unknown(tmp_path, content, remarks):
    call, found = one(tmp_path, changed(**content))
    assert (json.loads(call.body), call.usage.prompt_tokens, found) == (body(0), None, remarks)


@pytest.mark.parametrize(
    ("post", "remark"),
    [
        (None, "the request is not kept"),
        ({"text": '{"model": "gpt-5.2", "messages": [{"role'}, "the request is no JSON object, or is cut off"),
    ],
)
def test_requests_that_are_not_kept_leave_the_usage(tmp_path, post, remark):
    entry = har_entry(0)
    entry["request"]["postData"] = post
    call, found = one(tmp_path, entry)
    assert (call.body, call.usage.prompt_tokens) == (b"", PROMPTS[0])
    assert found == [f"{remark}; the call counts with its token counts alone"]


@pytest.mark.parametrize(
    ("url", "request_body", "target", "dialect", "model"),
    [
        ("https://api.anthropic.com/v1/messages?beta=true", {"model": "c"}, "anthropic", "anthropic-messages", "c"),
        ("https://api.openai.com/v1/responses", {"model": "g", "input": "hi"}, "openai", "openai-responses", "g"),
        (
            f"https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse&key={KEY}",
            {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
            "gemini",
            "gemini-generate",
            "gemini-3-pro",
        ),
        (
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/anthropic.claude-opus-4-5-v1%3A0/converse",
            {"messages": [{"role": "user", "content": [{"text": "hi"}]}]},
            "bedrock",
            "bedrock-converse",
            "anthropic.claude-opus-4-5-v1:0",
        ),
        ("http://localhost:8080/v1/completions", {"prompt": "hi"}, "", "llamacpp-completion", None),
        ("https://my.openai.azure.com/openai/deployments/d/chat/completions?api-version=1", {}, "azure", "openai-chat",
         None),
    ],
)  # fmt: skip
def test_whose_call_it_is(tmp_path, url, request_body, target, dialect, model):
    entry = har_entry(0, url=url)
    if not {"input", "contents", "prompt", "messages"} & request_body.keys():
        request_body = {**request_body, "messages": [{"role": "user", "content": "hi"}]}
    entry["request"]["postData"]["text"] = json.dumps(request_body)
    entry["response"]["content"] = {}
    call, _ = one(tmp_path, entry)
    assert (call.target, call.dialect, call.model) == (target, dialect, model)


def test_everything_else_is_counted_and_left_out(tmp_path):
    page = har_entry(0, url="https://shop.example/index.html")
    page["request"]["method"] = "GET"
    embedding = har_entry(0, url="https://api.openai.com/v1/embeddings")
    counted = har_entry(0, url="https://api.anthropic.com/v1/messages/count_tokens")
    thread = har_entry(0, url="https://api.openai.com/v1/threads/t/messages")
    thread["request"]["postData"]["text"] = '{"role": "user", "content": "hi"}'
    calls, records = read(tmp_path, har([page, embedding, har_entry(0), counted, thread]))
    assert (len(calls), records.read) == (1, 1)
    assert [remark.what for remark in records.remarks] == ["4 records left out: other requests than calls of models"]


def test_no_key_is_kept_wherever_it_stands(tmp_path):
    entry = changed(text=json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}", "type": "auth"}}))
    entry["response"]["status"] = 401
    entry["request"]["postData"]["text"] = json.dumps({**body(0), "user": KEY})
    call, _ = one(tmp_path, entry)
    assert (call.status, call.error) == (401, "Incorrect API key provided: *** (auth)")
    assert KEY not in repr(call)
    assert "planted-cookie" not in repr(call)


def test_a_key_in_the_query(tmp_path):
    entry = har_entry(0, url=f"https://api.openai.com/v1/chat/completions?api_key={KEY}")
    entry["request"]["headers"] = []
    entry["request"]["postData"]["text"] = json.dumps({**body(0), "user": KEY})
    call, _ = one(tmp_path, entry)
    assert KEY not in repr(call)


def test_a_request_without_an_answer(tmp_path):
    entry = har_entry(0)
    entry["response"] = {"status": 0, "headers": [], "content": {}, "_error": "net::ERR_CONNECTION_RESET"}
    call, _ = one(tmp_path, entry)
    assert (call.status, call.error) == (None, "net::ERR_CONNECTION_RESET")


def test_entries_are_read_in_the_order_of_time(tmp_path):
    calls, _ = read(tmp_path, har([har_entry(turn) for turn in (2, 0, 1)]))
    assert [call.usage.prompt_tokens for call in calls] == list(PROMPTS[:3])


def test_damaged_entries_among_good_ones(tmp_path):
    whole = har([har_entry(0), {"request": None}, har_entry(1)])
    calls, records = read(tmp_path, whole[:-7])
    assert len(calls) == 2
    assert [one.reason for one in records.skipped] == [
        "an entry without a request, an object; expected an entry of a HAR",
        "cut off: the JSON value does not end",
    ]
    log = opened(tmp_path, whole[:-3000])
    assert len(list(log)) == 1
    assert "cut off: the JSON value does not end" in log.records().skipped[-1].reason
