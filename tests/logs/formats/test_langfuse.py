from __future__ import annotations

import json

import pytest
from exports import PROMPTS, START, body, langfuse, lines, table
from log_files import opened, read


def one(tmp_path, data):
    calls, records = read(tmp_path, data if isinstance(data, bytes) else lines([data]))
    assert (len(calls), records.damaged) == (1, 0), records
    return calls[0], [remark.what for remark in records.remarks]


def without(record, *names):
    return {name: value for name, value in record.items() if name not in names}


def test_an_observation(tmp_path):
    call, remarks = one(tmp_path, langfuse(0))
    assert (call.model, call.session, call.label, call.dialect) == ("gpt-5.2", "s-1", "answer", "openai-chat")
    assert (call.timing.at, call.timing.ttft_s, call.timing.total_s) == (START, pytest.approx(0.4), 2.5)
    assert (call.usage.prompt_tokens, call.usage.cached_tokens, call.usage.output_tokens) == (PROMPTS[0], 0, 30)
    assert call.raw_usage["cost"] == 0.0043
    assert json.loads(call.body) == body(0)
    assert remarks == []


SNAKE = {
    "id": "o", "trace_id": "t", "project_id": "p", "type": "GENERATION", "start_time": "2026-11-01 12:00:00.000000",
    "end_time": "2026-11-01 12:00:02.500000", "completion_start_time": "2026-11-01 12:00:00.400000",
    "provided_model_name": "gpt-5.2", "model_parameters": "{\"temperature\":0.2}",
    "input": json.dumps(body(0)["messages"]),
    "usage_details": {"input": PROMPTS[0], "output": 30, "input_cached_tokens": 0, "total": PROMPTS[0] + 30},
    "total_cost": 0.0043,
}  # fmt: skip


@pytest.mark.parametrize(
    "data",
    [
        json.dumps([langfuse(0)]).encode(),
        json.dumps({"data": [langfuse(0)], "meta": {"page": 1}}).encode(),
        json.dumps({"trace": {"id": "t", "sessionId": "s-1"}, "observations": [langfuse(0)]}, indent=2).encode(),
        json.dumps({"id": "t", "sessionId": "s-1", "observations": [without(langfuse(0), "sessionId")]}).encode(),
        table([langfuse(0)]),
        table([langfuse(0, input=json.dumps(body(0)["messages"]))]).replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + table([langfuse(0)]).replace(b'","', b'";"'),
        lines([SNAKE]),
    ],
    ids=["array", "API", "trace", "trace of the API", "table", "CRLF", "semicolons", "bucket"],
)
def test_the_files_it_comes_in(tmp_path, data):
    log = opened(tmp_path, data)
    (call,) = log
    assert (log.format, call.timing.at, call.usage.prompt_tokens) == ("langfuse", START, PROMPTS[0])
    assert json.loads(call.body)["messages"] == body(0)["messages"]
    assert call.raw_usage["cost"] == 0.0043


@pytest.mark.parametrize(
    ("details", "prompt", "cached", "written"),
    [
        ({"input": 100, "output": 9, "input_cached_tokens": 700, "total": 809}, 800, 700, None),
        ({"input": 100, "output": 9, "cache_read_input_tokens": 700, "cache_creation_input_tokens": 50}, 850, 700, 50),
        ({"input": 100, "output": 9, "input_cache_read": 700, "input_cache_creation_5m": 50}, 850, 700, 50),
        ({"input": 800, "output": 9, "input_cached_tokens": 700, "total": 809}, 800, 700, None),
        ({"input": 100, "output": 9, "total": 109}, 100, None, None),
        ({"input": "100", "output": 9.0}, 100, None, None),
        ({"total": 109}, None, None, None),
    ],
)
def test_usage_details_add_up(tmp_path, details, prompt, cached, written):
    call, remarks = one(tmp_path, langfuse(0, usageDetails=details))
    assert (call.usage.prompt_tokens, call.usage.cached_tokens, call.usage.written_tokens) == (prompt, cached, written)
    assert remarks == []


@pytest.mark.parametrize(
    ("details", "attributes", "doubt"),
    [
        (
            {"input": 800, "output": 9, "input_cached_tokens": 700, "total": 900},
            {},
            "usageDetails.total is 900, the parts add up to 1,509; the prompt tokens are taken as not known",
        ),
        (
            {"input": 800, "output": 9, "input_cached_tokens": 700, "total": 1509},
            {"gen_ai.usage.input_tokens": 800},
            "usageDetails.input is 800, as is the gen_ai.usage.input_tokens that was sent, which by its convention "
            "holds the 700 cached and written ones; the prompt tokens are taken as not known",
        ),
    ],
)
def test_cached_tokens_that_may_be_counted_twice_leave_the_prompt_unknown(tmp_path, details, attributes, doubt):
    call, remarks = one(tmp_path, langfuse(0, usageDetails=details, metadata={"attributes": attributes}))
    assert (call.usage.prompt_tokens, call.usage.cached_tokens) == (None, 700)
    assert remarks == [doubt]


@pytest.mark.parametrize("attributes", [{"gen_ai.usage.input_tokens": "800"}, {"gen_ai.usage.input_tokens": 100}])
def test_attributes_that_agree_with_the_sum_or_cannot_hold_the_cached_ones(tmp_path, attributes):
    details = {"input": 100, "output": 9, "input_cached_tokens": 700, "total": 809}
    call, remarks = one(tmp_path, langfuse(0, usageDetails=details, metadata={"attributes": attributes}))
    assert (call.usage.prompt_tokens, remarks) == (800, [])


OLD = without(langfuse(0), "usageDetails", "costDetails")


@pytest.mark.parametrize(
    ("record", "prompt", "remark"),
    [
        ({**OLD, "usage": {"input": 100, "output": 9, "total": 109, "unit": "TOKENS"}}, 100, None),
        ({**OLD, "promptTokens": 100, "completionTokens": 9, "totalTokens": 109}, 100, None),
        ({**OLD, "usageDetails": {}, "usage": {"input": 0, "output": 0, "total": 0}, "inputUsage": 0}, None, None),
        (
            {**OLD, "usage": {"input": 500, "output": 90, "unit": "CHARACTERS"}},
            None,
            "usage is counted in characters, so the token counts are not known",
        ),
    ],
)
def test_usage_of_version_2(tmp_path, record, prompt, remark):
    call, remarks = one(tmp_path, record)
    assert (call.usage.prompt_tokens, call.usage.cached_tokens) == (prompt, None)
    assert remarks == ([remark] if remark else [])


TOOLS = [{"type": "function", "function": {"name": "stock", "parameters": {}}}]
HI = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("given", "request_members"),
    [
        ({"messages": HI, "tools": TOOLS}, {"messages": HI, "tools": TOOLS}),
        ({"messages": HI, "tools": json.dumps(TOOLS)}, {"messages": HI, "tools": TOOLS}),
        ([HI], {"messages": HI}),
        ([json.dumps(HI[0])], {"messages": HI}),
        (
            [*HI, {"role": "tool", "content": {"left": 3}}],
            {"messages": [*HI, {"role": "tool", "content": '{"left":3}'}]},
        ),
        ("p" * 4000, {"prompt": "p" * 4000}),
    ],
)
def test_the_request_as_sdks_write_it(tmp_path, given, request_members):
    call, remarks = one(tmp_path, langfuse(0, input=given))
    assert json.loads(call.body) == {"model": "gpt-5.2", "temperature": 0.2, **request_members}
    assert remarks == []


@pytest.mark.parametrize(
    ("given", "remark"),
    [
        ("<truncated due to size exceeding limit>", "the input was too large for Langfuse's SDK and is not there"),
        ([{"role": "user", "content": "You sell...[truncated]"}], "the input was cut by Langfuse"),
        ("which?", "the input is a text of fewer characters than the prompt has tokens, so not all that was sent"),
        ({"question": "which?"}, "the input is an object, not a request"),
        ([1, 2], "the request/messages/0 is a number, expected an object; the request/messages/1 is a number, expected "
                 "an object"),
    ],
)  # fmt: skip
def test_text_that_is_not_the_prompt_is_not_taken_for_it(tmp_path, given, remark):
    call, remarks = one(tmp_path, langfuse(0, input=given))
    assert (call.body, call.usage.prompt_tokens) == (b"", PROMPTS[0])
    assert remarks == [f"{remark}; the call counts with its token counts alone"]


def test_only_generations_are_calls(tmp_path):
    records = [
        langfuse(0),
        langfuse(1, type="SPAN"),
        langfuse(2, type="SPAN"),
        without(langfuse(3), "type"),
        without(langfuse(3, model=None, usageDetails={}), "type"),
    ]
    calls, found = read(tmp_path, lines(records))
    assert [call.timing.at - START for call in calls] == [0, 60]
    assert [remark.what for remark in found.remarks] == [
        "2 records left out: observations of the type SPAN",
        "1 record left out: observations without a model and usage",
    ]


def test_a_trace_stands_in_for_a_session_where_it_has_several_calls(tmp_path):
    records = [without(langfuse(turn, traceId=trace), "sessionId") for turn, trace in enumerate("aab")]
    calls, _ = read(tmp_path, lines(records))
    assert [call.session for call in calls] == ["a", "a", ""]


def test_a_call_that_failed(tmp_path):
    call, _ = one(tmp_path, langfuse(0, level="ERROR", statusMessage="429 rate limited", usageDetails={}, output=None))
    assert (call.error, call.usage.prompt_tokens) == ("429 rate limited", None)


def test_damaged_records_among_good_ones(tmp_path):
    good = [json.dumps(langfuse(turn)) for turn in range(3)]
    array = f'[{good[0]},\n{{"id": nope}},\n7,\n{good[1]},\n{good[2][:-40]}'
    calls, records = read(tmp_path, array.encode())
    assert [call.timing.at - START for call in calls] == [0, 20]
    assert [(one.line, one.reason[:30]) for one in records.skipped] == [
        (2, "expected JSON: expecting value"),
        (3, "the record is a number, expect"),
        (5, "cut off: the JSON value does n"),
    ]
