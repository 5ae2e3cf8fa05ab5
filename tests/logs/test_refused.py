from __future__ import annotations

import json

import pytest
from log_files import jsonl, opened, read

from hitrate.errors import InputFileError, UsageError

MOONCAKE = {"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2]}
RAGPULSE = {"timestamp": "82", "input_length": 9, "hash_ids": {"sys_prompt": [1], "history": []}, "session_id": "a"}
WEKA = {"id": "t", "models": [], "block_size": 64, "hash_id_scope": "local", "requests": [{"t": 0.0, "hash_ids": [1]}]}
TIMES = {"request_id": "b-0", "input_toks": 2358, "queued_ts": 1.5, "scheduled_ts": 1.6, "first_token_ts": 1.7}
REPLAY = "the prompts themselves are not in it, so there is nothing to compare; replay it with hitrate simulate"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (jsonl(MOONCAKE, MOONCAKE), f"this trace has hashes of prompt blocks: {REPLAY}"),
        (jsonl(RAGPULSE) + b"\n" + jsonl(RAGPULSE), f"this trace has ids of the parts of a RAG prompt: {REPLAY}"),
        (jsonl(WEKA, WEKA), f"this trace has hashes of prompt blocks by session: {REPLAY}"),
        (jsonl({"passage_id": 0, "token_length": 84}), "this file has the lengths of the parts of a trace: "),
        (jsonl(TIMES), "this file has lengths and times of requests, and neither prompts nor cached tokens, "),
        (
            b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n",
            "a table of token counts (TIMESTAMP, ContextTokens, GeneratedTokens): it says nothing of which prompts ",
        ),
    ],
    ids=["Mooncake", "RAGPulse", "Weka", "lengths", "times", "table"],
)
def test_files_without_prompts_say_so_in_one_line(tmp_path, data, reason):
    with pytest.raises(InputFileError) as caught:
        opened(tmp_path, data)
    assert reason in caught.value.message
    assert "\n" not in caught.value.message


def turn(said, answer):
    return {"timestamp": 1760587752017385, "input": said, "output": answer, "session_id": "s"}


def test_inputs_that_are_the_newest_message_are_no_prompts(tmp_path):
    with pytest.raises(InputFileError, match="`input` is the newest message and not the prompt"):
        opened(tmp_path, jsonl(turn("Hi!", "Hi, I have a question."), turn("Hi, I have a question.", "")))
    whole = [turn("system: a", "b"), turn("system: a\nassistant: b\nuser: c", "b")]
    assert len(read(tmp_path, jsonl(*whole))[0]) == 2


def test_a_document_of_something_else_is_named_by_its_members(tmp_path):
    settings = json.dumps({"schema_version": 1, "model": "m", "started_at": "now"}, indent=2).encode()
    with pytest.raises(UsageError, match="a JSON document with schema_version, model, started_at; the format of this"):
        opened(tmp_path, settings)


def test_a_format_that_is_named_is_tried_all_the_same(tmp_path):
    calls, records = read(tmp_path, jsonl(MOONCAKE), "rendered")
    assert (calls, records.damaged) == ([], 1)
