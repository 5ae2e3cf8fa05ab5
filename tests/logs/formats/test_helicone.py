from __future__ import annotations

import json

import pytest
from exports import KEY, PROMPTS, START, answer, body, helicone, helicone_table, lines
from log_files import opened, read


def one(tmp_path, data):
    calls, records = read(tmp_path, data if isinstance(data, bytes) else lines([data]))
    assert (len(calls), records.damaged) == (1, 0), records
    return calls[0], [remark.what for remark in records.remarks]


def without(record, *names):
    return {name: value for name, value in record.items() if name not in names}


def test_a_record(tmp_path):
    call, remarks = one(tmp_path, helicone(0))
    assert (call.target, call.dialect, call.model, call.session) == ("openai", "openai-chat", "gpt-5.2", "s-1")
    assert (call.timing.at, call.timing.ttft_s, call.timing.total_s, call.status) == (START, 0.4, 2.5, 200)
    assert (call.usage.prompt_tokens, call.usage.cached_tokens) == (PROMPTS[0], 0)
    assert call.usage.cached_source == "usage.prompt_tokens_details.cached_tokens"
    assert call.raw_usage["cost"] == 0.0043
    assert (json.loads(call.body), call.reply.text) == (body(0), "Answer 0: the long one.")
    assert remarks == []


@pytest.mark.parametrize(
    "data",
    [
        json.dumps([helicone(0)], indent=2).encode(),
        json.dumps({"data": [helicone(0)], "error": None}).encode(),
        helicone_table([helicone(0)]),
        helicone_table([helicone(0)], twice=True),
    ],
    ids=["array", "API", "table", "table of the older tool"],
)
def test_the_files_it_comes_in(tmp_path, data):
    log = opened(tmp_path, data)
    (call,) = log
    assert (log.format, call.timing.at, call.session) == ("helicone", START, "s-1")
    assert (json.loads(call.body), call.usage.prompt_tokens) == (body(0), PROMPTS[0])


COLUMNS = (
    "prompt_tokens",
    "prompt_cache_read_tokens",
    "prompt_cache_write_tokens",
    "completion_tokens",
    "total_tokens",
)


@pytest.mark.parametrize(
    ("counts", "prompt", "cached", "doubt"),
    [
        ((1000, 0, 0, 9, 1009), 1000, 0, None),
        ((100, 700, 200, 9, 1009), 1000, 700, None),
        ((1000, 700, 200, 9, 1009), 1000, 700, None),
        ((100, 700, None, 9, None), 800, 700, None),
        ((1000, 700, None, 9, None), None, 700, "no in all"),
        ((1000, 700, None, 9, 1100), None, 700, "1,100 in all"),
        ((0, 0, 0, 0, 0), None, None, None),
    ],
)
def test_columns_without_an_answer(tmp_path, counts, prompt, cached, doubt):
    record = {**helicone(0, response_body=None), **dict(zip(COLUMNS, counts, strict=True))}
    call, remarks = one(tmp_path, record)
    assert (call.usage.prompt_tokens, call.usage.cached_tokens) == (prompt, cached)
    assert [doubt in remark for remark in remarks] == ([True] if doubt else [])


def test_the_vendors_own_usage_goes_before_the_columns(tmp_path):
    told = {"input_tokens": 100, "cache_read_input_tokens": 700, "cache_creation_input_tokens": 0, "output_tokens": 9}
    message = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "ok"}], "usage": told}
    record = helicone(
        0, provider="ANTHROPIC", request_path="https://anthropic.helicone.ai/v1/messages", response_body=message,
        prompt_cache_read_tokens=700, total_tokens=77,
    )  # fmt: skip
    call, remarks = one(tmp_path, record)
    assert (call.target, call.dialect) == ("anthropic", "anthropic-messages")
    assert (call.usage.prompt_tokens, call.usage.cached_tokens, remarks) == (800, 700, [])


def test_a_stream_that_was_not_put_together(tmp_path):
    chunk = {"object": "chat.completion.chunk", "choices": []}
    call, _ = one(tmp_path, helicone(0, response_body={"streamed_data": [{**chunk, "usage": answer(0)["usage"]}]}))
    assert (call.usage.prompt_tokens, call.usage.cached_tokens) == (PROMPTS[0], 0)


@pytest.mark.parametrize(
    ("given", "remark"),
    [
        (
            {"model": "gpt-5.2", "heliconeMessage": "Request body too large", "tooLarge": True},
            "the request is not in the export: Request body too large",
        ),
        ('{"model": "gpt-5.2", "messages": [{"ro', "the request is no JSON object, or is cut off"),
        ({}, None),
        ("", None),
    ],
)
def test_text_that_is_not_there(tmp_path, given, remark):
    call, remarks = one(tmp_path, helicone(0, request_body=given))
    assert (call.body, call.usage.prompt_tokens) == (b"", PROMPTS[0])
    assert remarks == ([f"{remark}; the call counts with its token counts alone"] if remark else [])


@pytest.mark.parametrize(
    ("members", "cost"),
    [
        ({"cost": 0.0043}, 0.0043),
        ({"cost": 4_300_000}, 0.0043),
        ({"cost": None, "costUSD": 0.0043}, 0.0043),
        ({"cost": 0}, None),
    ],
)
def test_cost_in_dollars_or_billionths(tmp_path, members, cost):
    call, _ = one(tmp_path, {**helicone(0), **members})
    assert (call.raw_usage or {}).get("cost") == cost


def test_answers_of_its_own_cache_and_embeddings_are_counted_and_left_out(tmp_path):
    records = [
        helicone(0, cache_reference_id="00000000-0000-0000-0000-000000000000"),
        helicone(1, cache_reference_id="5c9d0a52-8f5e-4c4b-9a57-0d2d3f2f7c11"),
        helicone(2, request_path="https://oai.helicone.ai/v1/embeddings"),
    ]
    calls, found = read(tmp_path, lines(records))
    assert len(calls) == 1
    assert [remark.what for remark in found.remarks] == [
        "1 record left out: answers from Helicone's own cache, for which no model was asked",
        "1 record left out: embeddings",
    ]


def test_failures_and_keys(tmp_path):
    error = {"error": {"message": "Incorrect API key", "type": "invalid_request_error"}}
    record = helicone(0, response_status=401, response_body=error, request_auth=KEY, prompt_tokens=0, total_tokens=0)
    call, _ = one(tmp_path, {**record, "completion_tokens": 0})
    assert (call.status, call.error, call.usage.prompt_tokens) == (
        401,
        "Incorrect API key (invalid_request_error)",
        None,
    )
    assert KEY not in repr(call)


def test_damaged_records_among_good_ones(tmp_path):
    rows = helicone_table([helicone(0), helicone(1), helicone(2)]).split(b"\n")
    broken = b"\n".join([rows[0], rows[1], b"a,b", rows[2].replace(b"sell", b"s\xe9ll"), rows[3]])
    calls, records = read(tmp_path, broken)
    assert [call.timing.at - START for call in calls] == [0, 40]
    assert [(one.line, one.reason) for one in records.skipped] == [
        (3, "a row of 2 cells, expected 12 as in the header"),
        (4, "not UTF-8, expected a table in UTF-8"),
    ]


def test_a_table_that_is_cut_off(tmp_path):
    calls, records = read(tmp_path, helicone_table([helicone(0), helicone(1)])[:-3000])
    assert len(calls) == 1
    assert [(one.line, one.reason) for one in records.skipped] == [(3, "cut off: a quoted cell does not end")]


def test_no_session_where_none_is_named(tmp_path):
    call, _ = one(tmp_path, without(helicone(0), "request_properties"))
    assert call.session == ""
