from __future__ import annotations

import json

import pytest
from log_files import jsonl, read


def info(number=1, fresh=10, read_tokens=8000, written=500, output=90, **more):
    tokens = {"input": fresh, "output": output, "reasoning": 30, "cache": {"read": read_tokens, "write": written}}
    found = {"id": f"msg_{number}", "sessionID": "ses_1", "role": "assistant", "agent": "build", "cost": 0.5}
    found |= {"providerID": "anthropic", "modelID": "claude-sonnet-4-5", "tokens": tokens}
    return {**found, "time": {"created": 1793534400000 + number * 1000}, **more}


def message(number=1, parts=(), **more):
    return {"info": info(number, **more), "parts": list(parts)}


USER = {"info": {"id": "msg_0", "sessionID": "ses_1", "role": "user", "time": {"created": 1793534400000}}, "parts": []}


def figures(call):
    usage = call.usage
    return usage.prompt_tokens, usage.cached_tokens, usage.written_tokens, usage.output_tokens, usage.reasoning_tokens


EXPECTED = (8510, 8000, 500, 90, 30)


@pytest.mark.parametrize(
    "data",
    [
        json.dumps({"info": {"id": "ses_1", "title": "x"}, "messages": [USER, message()]}, indent=2).encode(),
        json.dumps({"info": {"id": "ses_1", "title": "x"}, "messages": [USER, message()]}).encode(),
        json.dumps([USER, message()]).encode(),
        json.dumps([USER, message()], indent=1).encode(),
        jsonl(USER, message()),
        jsonl(info()),
        json.dumps(info(), indent=2).encode(),
    ],
    ids=["export", "export in one line", "messages", "messages over lines", "JSONL", "flat JSONL", "storage"],
)
def test_the_shapes_of_one_call(tmp_path, data):
    (call,), records = read(tmp_path, data)
    assert figures(call) == EXPECTED
    assert (call.target, call.dialect, call.model) == ("anthropic", "anthropic-messages", "claude-sonnet-4-5")
    assert (call.session, call.timing.at, call.raw_usage["cost"]) == ("ses_1", 1793534401.0, 0.5)
    assert records.damaged == 0


def test_events_of_a_run(tmp_path):
    tokens = {"input": 7, "output": 3, "reasoning": 0, "cache": {"read": 20, "write": 1}}
    step = {"type": "step_finish", "timestamp": 1793534400000, "sessionID": "ses_1", "part": {"tokens": tokens}}
    text = {"type": "text", "timestamp": 1793534400000, "sessionID": "ses_1", "part": {"text": "hi"}}
    (call,), records = read(tmp_path, jsonl(step))
    assert figures(call)[:3] == (28, 20, 1)
    assert len(read(tmp_path, jsonl(text, step))[0]) == 1
    assert records.damaged == 0


def test_several_calls_in_one_message(tmp_path):
    steps = [
        {"type": "step-finish", "cost": 0.1, "tokens": {"input": fresh, "output": 1, "cache": {"read": 5, "write": 0}}}
        for fresh in (100, 200)
    ]
    calls, _ = read(tmp_path, jsonl(message(parts=[{"type": "text", "text": "a"}, *steps])))
    assert [call.usage.prompt_tokens for call in calls] == [105, 205]


def test_what_happened_between_the_calls(tmp_path):
    error = {"name": "MessageAbortedError"}
    failed = message(4, fresh=0, read_tokens=0, written=0, output=0, agent="plan", error=error)
    summary = message(2, agent="compaction", summary=True)
    calls, _ = read(
        tmp_path, jsonl(USER, message(1), summary, message(3, agent="plan"), failed, message(5, agent="plan"))
    )
    assert [[(one.kind, one.detail) for one in call.happenings] for call in calls] == [
        [],
        [],
        [("compaction", ""), ("setting", "agent build -> plan")],
        [],
        [("aborted", "MessageAbortedError before its usage came")],
    ]
    assert (calls[3].usage.prompt_tokens, calls[3].error) == (None, "MessageAbortedError before its usage came")


def test_zeros_of_a_vendor_that_reports_nothing(tmp_path):
    none = [message(number, read_tokens=0, written=0) for number in (1, 2)]
    _, records = read(tmp_path, jsonl(*none))
    assert [one.what[:35] for one in records.remarks] == ["no call has cached tokens; OpenCode"]
    assert read(tmp_path, jsonl(*none, message(3)))[1].remarks == ()


def test_an_export_that_is_cut_off_keeps_its_messages(tmp_path):
    data = json.dumps({"info": {"id": "ses_1"}, "messages": [message(1), message(2), message(3)]}, indent=2).encode()
    calls, records = read(tmp_path, data[:-300])
    assert len(calls) == 2
    assert "cut off" in records.skipped[-1].reason


def test_one_bad_record_among_good_ones(tmp_path):
    calls, records = read(tmp_path, jsonl(message(1), message(2, tokens=None), ["?"], message(3)))
    assert len(calls) == 2
    assert [(one.line, one.reason) for one in records.skipped] == [
        (2, "/tokens is null, expected an object"),
        (3, "the record is an array, expected an object"),
    ]
