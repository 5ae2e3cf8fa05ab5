from __future__ import annotations

import json

import pytest
from exports import PROMPTS, START, answer, body, lines, litellm_payload, litellm_spend, table, usage
from log_files import opened, read


def one(tmp_path, record):
    """The call of a record, and what is remarked."""
    calls, records = read(tmp_path, lines([record]))
    assert (len(calls), records.damaged) == (1, 0), records
    return calls[0], [remark.what for remark in records.remarks]


def without(record, *names):
    return {name: value for name, value in record.items() if name not in names}


def test_a_row_of_the_spend_logs(tmp_path):
    call, remarks = one(tmp_path, litellm_spend(0))
    assert (call.target, call.dialect, call.model) == ("openai", "openai-chat", "gpt-5.2")
    assert (call.timing.at, call.timing.ttft_s, call.timing.total_s) == (START, pytest.approx(0.4), 2.5)
    assert (call.usage.prompt_tokens, call.usage.cached_tokens, call.usage.output_tokens) == (PROMPTS[0], 0, 30)
    assert call.raw_usage["cost"] == 0.0043
    assert call.response_headers == {"x-litellm-model-id": "7d2c"}
    assert json.loads(call.body) == {**body(0), "model": "shop-model", "metadata": {"user_api_key": "0"}}
    assert remarks == []


def test_a_standard_payload(tmp_path):
    call, _ = one(tmp_path, litellm_payload(1))
    assert (call.timing.at, call.timing.ttft_s) == (START + 20, pytest.approx(0.4))
    assert json.loads(call.body) == {**body(1), "stream": True}
    assert call.reply.text == "Answer 1: the long one."


@pytest.mark.parametrize(
    "wrap",
    [
        lambda record: json.dumps([record]).encode(),
        lambda record: json.dumps({"data": [record], "total": 1, "page": 1}).encode(),
        lambda record: json.dumps(record, indent=2).encode(),
        lambda record: lines([{"kwargs": {}, "standard_logging_object": record}]),
        lambda record: table([record]),
    ],
    ids=["an array", "an answer of /spend/logs/ui", "one document", "a callback's own", "a table"],
)
@pytest.mark.parametrize("record", [litellm_spend(0), litellm_payload(0)], ids=["spend", "payload"])
def test_what_it_may_be_wrapped_in(tmp_path, wrap, record):
    log = opened(tmp_path, wrap(record))
    (call,) = log
    assert (log.format, call.timing.at, call.usage.prompt_tokens) == ("litellm", START, PROMPTS[0])
    assert json.loads(call.body)["messages"] == body(0)["messages"]


CUT = "You sell... (litellm_truncated skipped 8015 chars. See MAX_STRING_LENGTH_PROMPT_IN_DB) ...centimetres."
MASKED = [{"role": "user", "content": "redacted-by-litellm"}]


@pytest.mark.parametrize(
    ("record", "remark"),
    [
        (
            litellm_spend(0, proxy_server_request={"messages": [{"role": "user", "content": CUT}]}),
            "the request was cut to fit LiteLLM's database (MAX_STRING_LENGTH_PROMPT_IN_DB)",
        ),
        (litellm_payload(0, messages=MASKED), "the request's text was masked by LiteLLM (turn_off_message_logging)"),
        (
            litellm_payload(0, messages="[{'role': 'user'...truncated by litellm, this logger does not support large"),
            "the request was cut by LiteLLM's logger",
        ),
    ],
)
def test_text_that_is_not_the_prompt_is_not_taken_for_it(tmp_path, record, remark):
    call, remarks = one(tmp_path, record)
    assert (call.body, call.usage.prompt_tokens) == (b"", PROMPTS[0])
    assert remarks == [f"{remark}; the call counts with its token counts alone"]


def test_rows_without_prompts_have_their_usage(tmp_path):
    call, remarks = one(tmp_path, litellm_spend(0, proxy_server_request={}, response={}))
    assert (call.body, call.usage.prompt_tokens, call.usage.cached_tokens) == (b"", PROMPTS[0], 0)
    assert remarks == []


CLAUDE = {
    "prompt_tokens": 1000, "completion_tokens": 9, "total_tokens": 1009,
    "prompt_tokens_details": {"cached_tokens": 700, "cache_creation_tokens": 200,
                              "cache_creation_token_details": {"ephemeral_5m_input_tokens": 150,
                                                               "ephemeral_1h_input_tokens": 50}},
    "cache_creation_input_tokens": 200, "cache_read_input_tokens": 700,
}  # fmt: skip


@pytest.mark.parametrize(
    ("told", "prompt", "cached", "written", "doubt"),
    [
        (CLAUDE, 1000, 700, 200, None),
        ({**CLAUDE, "cache_read_input_tokens": None}, 1000, 700, 200, None),
        (without(CLAUDE, "prompt_tokens_details"), 1000, 700, 200, None),
        (
            {**CLAUDE, "prompt_tokens_details": {"cached_tokens": 0}},
            1000,
            None,
            200,
            "prompt_tokens_details.cached_tokens says 0 and cache_read_input_tokens 700; the cached tokens are taken "
            "as not known",
        ),
        ({"input_tokens": 100, "cache_read_input_tokens": 700, "output_tokens": 9}, 800, 700, None, None),
        ({"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": None}, 100, None, None, None),
    ],
)
@pytest.mark.parametrize("place", ["response", "metadata", "hidden_params"])
def test_usage_in_its_versions(tmp_path, told, prompt, cached, written, doubt, place):
    record = litellm_payload(0, response=None, metadata={}, hidden_params={}, custom_llm_provider="anthropic")
    record[place] = {"usage": told} if place == "response" else {"usage_object": told}
    call, remarks = one(tmp_path, record)
    assert (call.usage.prompt_tokens, call.usage.cached_tokens, call.usage.written_tokens) == (prompt, cached, written)
    assert remarks == ([doubt] if doubt else [])


def test_lifetimes_of_writes(tmp_path):
    call, _ = one(tmp_path, litellm_payload(0, response={"usage": CLAUDE}))
    assert (call.usage.written_5m_tokens, call.usage.written_1h_tokens) == (150, 50)


def test_the_columns_of_older_versions(tmp_path):
    record = litellm_spend(0, response={}, metadata={"additional_usage_values": {"cache_read_input_tokens": 512}})
    call, _ = one(tmp_path, record)
    assert (call.usage.prompt_tokens, call.usage.cached_tokens) == (PROMPTS[0], 512)


@pytest.mark.parametrize(
    ("call_type", "member", "dialect"),
    [
        ("anthropic_messages", {"system": "s", "messages": [{"role": "user", "content": "hi"}]}, "anthropic-messages"),
        ("aresponses", {"input": "hi"}, "openai-responses"),
        ("atext_completion", {"prompt": "hi"}, "llamacpp-completion"),
        ("agenerate_content", {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}, "gemini-generate"),
        ("pass_through_endpoint", {"messages": [{"role": "user", "content": "hi"}]}, "openai-chat"),
    ],
)
def test_the_wire_is_that_of_the_client(tmp_path, call_type, member, dialect):
    call, _ = one(tmp_path, litellm_spend(0, call_type=call_type, proxy_server_request={"model": "m", **member}))
    assert call.dialect == dialect


def test_calls_that_no_model_answered_are_counted_and_left_out(tmp_path):
    records = [
        litellm_spend(0),
        litellm_spend(1, call_type="aembedding"),
        litellm_spend(2, cache_hit="True"),
        litellm_payload(3, cache_hit=True),
    ]
    calls, found = read(tmp_path, lines(records))
    assert (len(calls), found.read) == (1, 1)
    assert [(remark.line, remark.what) for remark in found.remarks] == [
        (2, "1 record left out: calls of the type 'aembedding', which generate nothing"),
        (3, "2 records left out: answers from LiteLLM's own response cache, for which no model was asked"),
    ]


def test_a_failure_is_no_call_with_zero_tokens(tmp_path):
    error = {"error_code": "429", "error_message": "Rate limit reached\nsecond line", "error_class": "RateLimitError"}
    record = litellm_spend(
        0, status="failure", prompt_tokens=0, completion_tokens=0, total_tokens=0, spend=0.0, response={},
        metadata={"status": "failure", "error_information": error},
    )  # fmt: skip
    call, _ = one(tmp_path, record)
    assert (call.status, call.error, call.usage.prompt_tokens) == (429, "Rate limit reached", None)
    assert "cost" not in (call.raw_usage or {})


def test_what_litellm_keeps_for_itself_does_not_get_into_the_body(tmp_path):
    sent = {
        "url": "http://gateway/chat/completions",
        "headers": {"authorization": "Bearer planted"},
        "body": {**body(0), "api_key": "planted", "secret_fields": {"raw_headers": {"authorization": "planted"}},
                 "litellm_call_id": "planted", "user_api_key_hash": "planted"},
    }  # fmt: skip
    call, _ = one(tmp_path, litellm_payload(0, proxy_server_request=sent))
    assert json.loads(call.body) == body(0)
    assert "planted" not in repr(call)


@pytest.mark.parametrize(
    ("sessions", "found"),
    [(("a", "a", "b"), ["a", "a", ""]), (("a", "b", "c"), ["", "", ""]), ((None, "", "a"), ["", "", ""])],
)
def test_an_id_of_one_call_alone_is_no_session(tmp_path, sessions, found):
    calls, _ = read(tmp_path, lines(litellm_spend(turn, session_id=name) for turn, name in enumerate(sessions)))
    assert [call.session for call in calls] == found


@pytest.mark.parametrize(
    ("provider", "model", "target", "billed"),
    [
        ("anthropic", "anthropic/claude-opus-4-5", "anthropic", "claude-opus-4-5"),
        ("vertex_ai", "claude-opus-4-5", "", "claude-opus-4-5"),
        ("vertex_ai", "gemini-3-pro", "gemini", "gemini-3-pro"),
        ("fireworks_ai", "accounts/fireworks/models/kimi-k2", "fireworks", "accounts/fireworks/models/kimi-k2"),
        ("hosted_vllm", "hosted_vllm/qwen3", "vllm", "qwen3"),
        ("", "gpt-5.2", "", "gpt-5.2"),
        (None, None, "", "gpt-5.2"),
    ],
)
def test_who_served_it(tmp_path, provider, model, target, billed):
    call, _ = one(tmp_path, litellm_payload(0, custom_llm_provider=provider, model=model, response=answer(0)))
    assert (call.target, call.model) == (target, billed)


def test_damaged_records_among_good_ones(tmp_path):
    good = [json.dumps(litellm_spend(turn)).encode() for turn in range(3)]
    data = b"\n".join(
        [good[0], b'{"call_type": "acompletion", ', b"[1]", good[1].replace(b"sell", b"se\xffl"), good[2]]
    )
    calls, records = read(tmp_path, data)
    assert [call.timing.at for call in calls] == [START, START + 40]
    assert [one.line for one in records.skipped] == [2, 3, 4]


def test_usage_of_a_row_is_that_of_the_call(tmp_path):
    call, _ = one(tmp_path, litellm_spend(2, metadata={"usage_object": usage(2, cached=1280)}, response={}))
    assert (call.usage.cached_tokens, call.usage.cached_source) == (1280, "usage.prompt_tokens_details.cached_tokens")
