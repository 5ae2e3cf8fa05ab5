from __future__ import annotations

import json

from log_files import jsonl, read

TRAJECTORY = [
    {"role": "system", "content": "policy"},
    {"role": "user", "content": "hi"},
    {"content": None, "role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c", "name": "f", "content": "done"},
    {"content": "bye", "role": "assistant"},
    {"role": "user", "content": "###STOP###"},
]


def task(number=0, **more):
    return {"task_id": number, "reward": 1.0, "info": {}, "traj": TRAJECTORY, "trial": 3, **more}


def test_a_call_for_each_answer_with_what_stands_before_it(tmp_path):
    calls, records = read(tmp_path, jsonl(task()))
    assert [[one["role"] for one in json.loads(call.body)["messages"]] for call in calls] == [
        ["system", "user"],
        ["system", "user", "assistant", "tool"],
    ]
    assert [(call.session, call.turn, call.line) for call in calls] == [("task 0, trial 3", turn, 1) for turn in (1, 2)]
    assert calls[0].usage.prompt_tokens is None
    assert "put together from the conversation, without the tool definitions" in records.remarks[0].what


def test_the_order_of_members_is_not_kept(tmp_path):
    turned = [dict(reversed(message.items())) for message in TRAJECTORY]
    bodies = [[call.body for call in read(tmp_path, jsonl(task(traj=one)))[0]] for one in (TRAJECTORY, turned)]
    assert bodies[0] == bodies[1]


def test_one_bad_record_among_good_ones(tmp_path):
    data = jsonl(task(0), task(1, traj="none"), [1]) + b'{"task_id": 2, "traj": [\n' + jsonl(task(3))
    calls, records = read(tmp_path, data)
    assert len(calls) == 4
    assert [(one.line, one.reason[:36]) for one in records.skipped] == [
        (2, "/traj is a string, expected an array"),
        (3, "the record is an array, expected an "),
        (4, "cut off: the JSON value does not end"),
    ]
