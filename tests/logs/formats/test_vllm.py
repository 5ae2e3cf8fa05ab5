from __future__ import annotations

import json

import pytest
from log_files import read

PARAMETERS = "SamplingParams(n=1, temperature=0.0, stop=[], max_tokens=16, guided_decoding=None)"
PROMPT = '<|im_start|>system\nIt\'s "short", prompt_token_ids: [9]<|im_end|>\n'
IDS = [1, 2, 3, 4]


def received(number=1, prompt=PROMPT, ids=None, more=""):
    start = f"INFO 03-12 11:16:50 logger.py:39] Received request chatcmpl-{number}: "
    return f"{start}prompt: {prompt!r}, params: {PARAMETERS}, prompt_token_ids: {ids}, lora_request: None{more}.\n"


def since_0_11(number=1, prompt=PROMPT, ids=IDS):
    name = f"chatcmpl-{number}"
    return (
        f"(APIServer pid=1) DEBUG 11-01 12:00:00 [request_logger.py:57] Request {name} details: "
        f"prompt: {prompt!r}, prompt_token_ids: {ids}, prompt_embeds shape: None.\n"
        f"(APIServer pid=1) INFO 11-01 12:00:00 [request_logger.py:67] Received request {name}: "
        f"params: {PARAMETERS}, lora_request: None.\n"
    )


def test_the_prompt_as_it_was_rendered(tmp_path):
    (call,), records = read(tmp_path, received().encode())
    assert json.loads(call.body) == {"prompt": PROMPT}
    assert (call.target, call.usage.prompt_tokens, call.timing, call.line) == ("vllm", None, None, 1)
    assert records.damaged == 0


@pytest.mark.parametrize("log", [received(ids=IDS), since_0_11()], ids=["one line", "two lines"])
def test_token_ids_are_the_prompt_where_there_are_any(tmp_path, log):
    (call,), records = read(tmp_path, log.encode())
    assert json.loads(call.body) == {"prompt": IDS}
    assert (call.usage.prompt_tokens, call.usage.cached_tokens, records.damaged) == (4, None, 0)


def test_the_older_name_of_the_parameters(tmp_path):
    (call,), _ = read(tmp_path, received().replace("params: Samp", "sampling_params: Samp").encode())
    assert json.loads(call.body) == {"prompt": PROMPT}


def test_outputs_are_counted_and_calls_stay_in_order(tmp_path):
    answer = (
        "INFO 11-01 12:00:01 [logger.py:80] Generated response chatcmpl-{}: output: 'x', output_token_ids: {}, fin\n"
    )
    log = received(1) + received(2) + answer.format(2, [7, 8]) + answer.format(1, [7]) + received(3)
    calls, _ = read(tmp_path, log.encode())
    assert [(call.line, call.usage.output_tokens) for call in calls] == [(1, 1), (2, 2), (5, None)]


def test_an_adapter_is_part_of_the_request(tmp_path):
    lora = received().replace("lora_request: None", "lora_request: LoRARequest(lora_name='sql', lora_int_id=1)")
    assert json.loads(read(tmp_path, lora.encode())[0][0].body)["lora"] == "sql"


def test_the_arguments_of_the_server(tmp_path):
    arguments = "INFO 11-01 12:00:00 [utils.py:253] non-default args: {'model': 'm/x', 'block_size': 32}\n"
    calls, _ = read(tmp_path, (arguments + received()).encode())
    assert calls[0].model == "m/x"


CUT = "--max-log-len cut the prompt"


def test_a_prompt_that_was_cut_is_not_used(tmp_path):
    arguments = "INFO 11-01 12:00:00 [utils.py:253] non-default args: {'model': 'm/x', 'max_log_len': 20}\n"
    calls, records = read(tmp_path, (arguments + received(prompt="a" * 20) + received(prompt="short")).encode())
    assert [json.loads(call.body)["prompt"] for call in calls] == ["short"]
    assert records.skipped[0].reason.startswith(CUT)


def test_a_prompt_that_may_have_been_cut(tmp_path):
    log = received(1, prompt="word " * 20, ids=list(range(100))) + received(
        2, prompt="word " * 20, ids=list(range(100))
    )
    calls, records = read(tmp_path, log.encode())
    assert len(calls) == 2
    assert [remark.what[:66] for remark in records.remarks] == [
        "a prompt with as many characters as token ids, 100: if the server "
    ]


def test_prompts_that_are_not_in_the_log(tmp_path):
    calls, records = read(tmp_path, since_0_11().splitlines()[1].encode())
    assert calls == []
    assert "is written at the level DEBUG alone" in records.skipped[0].reason


def test_one_bad_record_among_good_ones(tmp_path):
    bad = received(2)[:90] + "\n"
    pooling = "INFO 11-01 12:00:00 [logger.py:39] Received request embd-1: prompt: 'a', params: PoolingParams(dim=1)\n"
    latin = received(4).encode().replace(b"short", b"sh\xf6rt")
    calls, records = read(tmp_path, (received(1) + bad + pooling).encode() + latin + received(3).encode())
    assert [call.line for call in calls] == [1, 5]
    assert [(one.line, one.reason) for one in records.skipped] == [
        (2, "cut off: the prompt does not end on its line"),
        (4, "not UTF-8, expected a request log in UTF-8"),
    ]
