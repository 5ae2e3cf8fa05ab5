from __future__ import annotations

import json

import pytest
from log_files import jsonl, opened, read

IDS = [[128000, 9906, 1917], [128000, 9906, 1917, 5]]


def prompts(calls):
    return [json.loads(call.body)["prompt"] for call in calls]


@pytest.mark.parametrize(
    "data",
    [
        jsonl(*IDS),
        json.dumps(IDS).encode(),
        jsonl(*({"input_tok_ids": ids} for ids in IDS)),
        jsonl(*({"token_ids": ids, "session_id": 1} for ids in IDS)),
    ],
    ids=["lists", "a list of lists", "objects", "other objects"],
)
def test_ids_of_all_shapes(tmp_path, data):
    log = opened(tmp_path, data)
    calls = list(log)
    assert (prompts(calls), log.format) == (IDS, "token-ids")
    assert [(call.usage.prompt_tokens, call.usage.cached_tokens) for call in calls] == [(3, None), (4, None)]


def test_a_trace_of_the_simulator(tmp_path):
    record = {"input_toks": 3, "output_toks": 2, "arrival_time_ns": 4692680800, "input_tok_ids": IDS[0]}
    (call,), records = read(tmp_path, jsonl({**record, "output_tok_ids": [1, 2]}))
    assert (call.usage.prompt_tokens, call.usage.output_tokens) == (3, 2)
    assert (call.timing, records.remarks) == (None, ())  # 4.7 s after the start, and no time of day


def test_counts_that_contradict_the_ids(tmp_path):
    (call,), records = read(tmp_path, jsonl({"input_toks": 9, "input_tok_ids": IDS[0]}))
    assert call.usage.prompt_tokens == 3
    assert records.remarks[0].what == "input_toks is 9 and there are 3 ids; the ids count"


def test_one_bad_record_among_good_ones(tmp_path):
    data = jsonl(IDS[0], [], [1, "a"], {"other": 1}, 7) + b"[1, 2\n" + jsonl(IDS[1])
    calls, records = read(tmp_path, data)
    assert prompts(calls) == IDS
    assert [one.line for one in records.skipped] == [2, 3, 4, 5, 6]
