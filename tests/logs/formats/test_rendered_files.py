from __future__ import annotations

import json

import pytest
from log_files import jsonl, opened, read

SYSTEM = "<|im_start|>system\nYou answer questions about parcels.<|im_end|>\n"
TURNS = [SYSTEM + "<|im_start|>user\none", SYSTEM + "<|im_start|>user\none<|im_end|>\n<|im_start|>user\ntwo"]


def prompts(calls):
    return [json.loads(call.body)["prompt"] for call in calls]


@pytest.mark.parametrize(
    ("data", "format"),
    [
        (jsonl({"text": TURNS[0]}, {"text": TURNS[1]}), "rendered"),
        (jsonl({"rendered": TURNS[0]}, {"rendered": TURNS[1]}), "rendered"),
        (jsonl(*({"input": turn, "output": "x", "session_id": "s", "timestamp": 1} for turn in TURNS)), "rendered"),
        (json.dumps([{"input": turn, "output_length": 5} for turn in TURNS], indent=2).encode(), "rendered"),
        (jsonl({"prompt": TURNS[0]}, {"prompt": TURNS[1]}), "request-pairs"),
        ("\n".join(turn.replace("\n", "\\n") for turn in TURNS).encode(), "prompt-lines"),
    ],
    ids=["text", "rendered", "input and output", "array", "prompt", "lines"],
)
def test_prompts_of_all_shapes(tmp_path, data, format):
    log = opened(tmp_path, data)
    calls = list(log)
    assert log.format == format
    expected = TURNS if format != "prompt-lines" else [turn.replace("\n", "\\n") for turn in TURNS]
    assert prompts(calls) == expected
    assert {call.dialect for call in calls} == {"llamacpp-completion"}
    assert [call.usage.cached_tokens for call in calls] == [None, None]


def test_a_file_that_is_one_prompt(tmp_path):
    log = opened(tmp_path, TURNS[1].encode())
    assert prompts(log) == [TURNS[1]]
    assert log.format == "prompt"


def test_lines_that_begin_alike_are_prompts(tmp_path):
    lines = ["You answer questions about parcels and about nothing else. " + end for end in ("one", "one two", "six")]
    assert prompts(read(tmp_path, "\n".join(lines).encode())[0]) == lines


def test_any_text_can_be_called_prompts(tmp_path):
    assert prompts(read(tmp_path, b"one\ntwo\n\nsix\r\n", "prompt-lines")[0]) == ["one", "two", "six"]
    assert prompts(read(tmp_path, b"one\ntwo\n", "prompt")[0]) == ["one\ntwo\n"]


def test_calls_of_a_trace_come_in_the_order_of_their_times(tmp_path):
    lines = [
        {"timestamp": 1760428436500000 + more, "input": f"prompt {more}", "output": "x", "session_id": "s"}
        for more in (0, 2000000, 1000000)
    ]
    calls, _ = read(tmp_path, jsonl(*lines))
    assert [call.timing.at for call in calls] == [1760428436.5, 1760428437.5, 1760428438.5]
    assert (calls[0].session, calls[0].reply) == ("s", None)


def test_counts_that_a_record_has(tmp_path):
    (call,), _ = read(tmp_path, jsonl({"input": "a", "output_length": 7, "input_length": 3}))
    assert (call.usage.prompt_tokens, call.usage.output_tokens, call.usage.cached_tokens) == (3, 7, None)


def test_prompts_without_the_answers_between_them(tmp_path):
    answer = "an answer that is long enough to be looked for in the next prompt"
    with_it = [
        {"input": "a", "output": answer, "session_id": "s"},
        {"input": "a" + answer, "output": "", "session_id": "s"},
    ]
    assert read(tmp_path, jsonl(*with_it))[1].remarks == ()
    without = [{**record, "input": "a" * number} for number, record in enumerate(with_it, 1)]
    assert "do not contain the answers" in read(tmp_path, jsonl(*without))[1].remarks[0].what


def test_an_input_of_a_request_is_none_of_a_trace(tmp_path):
    log = opened(tmp_path, jsonl({"model": "gpt-5", "input": "hi"}))
    assert ([call.dialect for call in log], log.format) == (["openai-responses"], "request-pairs")


def test_one_bad_record_among_good_ones(tmp_path):
    calls, records = read(tmp_path, jsonl({"text": "a"}, {"text": 5}, ["a"]) + b'{"text": "c\n' + jsonl({"text": "b"}))
    assert prompts(calls) == ["a", "b"]
    assert [one.line for one in records.skipped] == [2, 3, 4]
    calls, records = read(tmp_path, SYSTEM.replace("\n", " ").encode() * 2 + b"\nsh\xf6rt\n", "prompt-lines")
    assert (len(calls), records.skipped[0].line) == (1, 2)
