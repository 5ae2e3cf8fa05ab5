from __future__ import annotations

import json

import pytest
from log_files import read

HISTORY = [
    {"role": "system", "content": "fix it", "agent": "primary", "message_type": "system_prompt"},
    {"role": "user", "content": "issue", "agent": "primary"},
    {"role": "assistant", "content": "look", "thought": "look", "action": "ls", "agent": "primary"},
    {"role": "tool", "content": "a.py", "agent": "primary", "tool_call_ids": ["c1"]},
    {"role": "assistant", "content": "done", "thought": "done", "action": "submit", "agent": "primary"},
]
STEPS = [{"action": "ls", "observation": "a.py", "response": "look"}, {"action": "submit", "response": "done"}]


def document(**more):
    return json.dumps({"environment": "main", "trajectory": STEPS, "history": HISTORY, "info": {}, **more}, indent=2)


def sent(calls):
    return [[(one["role"], one["content"]) for one in json.loads(call.body)["messages"]] for call in calls]


def test_a_call_for_each_answer_of_the_history(tmp_path):
    calls, records = read(tmp_path, document().encode())
    assert sent(calls) == [
        [("system", "fix it"), ("user", "issue")],
        [("system", "fix it"), ("user", "issue"), ("assistant", "look"), ("tool", "a.py")],
    ]
    assert json.loads(calls[1].body)["messages"][3] == {"role": "tool", "content": "a.py", "tool_call_id": "c1"}
    assert calls[0].usage.prompt_tokens is None
    assert ["history processor" in remark.what for remark in records.remarks] == [False, True]


@pytest.mark.parametrize("name", ["messages", "query"])
def test_what_was_sent_for_each_step_is_believed(tmp_path, name):
    steps = [{**STEPS[0], name: HISTORY[:2]}, {**STEPS[1], name: [HISTORY[0], HISTORY[3]]}]
    calls, records = read(tmp_path, document(trajectory=steps).encode())
    assert sent(calls)[1] == [("system", "fix it"), ("tool", "a.py")]
    assert len(records.remarks) == 1


def test_a_document_that_is_cut_off_or_has_no_history(tmp_path):
    assert "cut off" in read(tmp_path, document().encode()[:-40])[1].skipped[0].reason
    assert read(tmp_path, document(history=None).encode())[1].skipped[0].reason == "/history is null, expected an array"
    steps = [{**STEPS[0], "messages": HISTORY[:2]}, {**STEPS[1], "messages": ["?"]}]
    calls, records = read(tmp_path, document(trajectory=steps).encode())
    assert (len(calls), records.skipped[0].reason) == (1, "/trajectory/1/messages/0 is a string, expected an object")
