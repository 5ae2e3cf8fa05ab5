from __future__ import annotations

import json

import pytest
from log_files import read

PROMPT = "<|im_start|>system\nIt's short, input_ids=[1]), out={'a': 1}<|im_end|>\n"
META = {
    "id": "1",
    "finish_reason": {"type": "stop"},
    "prompt_tokens": 342,
    "completion_tokens": 8,
    "cached_tokens": 326,
    "e2e_latency": 0.25,
}


def request(number=1, text=f"text={PROMPT!r}, input_ids=None, ", more=""):
    sampling = {"temperature": 0.0, "stop": [")"]}
    return f"obj=GenerateReqInput(rid='{number}', {text}sampling_params={sampling}, stream=True{more})"


def receive(number=1, second=0, **more):
    return f"[2026-11-01 12:00:{second:02}] Receive: {request(number, **more)}\n"


def finish(number=1, second=1, meta=META, **more):
    out = f"{{'text': 'see meta_info', 'meta_info': {meta}}}"
    return f"[2026-11-01 12:00:{second:02} TP0] Finish: {request(number, **more)}, out={out}\n"


def figures(call):
    return call.usage.prompt_tokens, call.usage.cached_tokens, call.usage.output_tokens


def test_a_request_and_its_answer_are_one_call(tmp_path):
    (call,), records = read(tmp_path, (receive() + finish()).encode())
    assert json.loads(call.body) == {"prompt": PROMPT}
    assert figures(call) == (342, 326, 8)
    assert (call.target, call.timing.at, call.timing.total_s) == ("sglang", 1793534400.0, 0.25)
    assert call.usage.cached_source == "meta_info.cached_tokens"
    assert records.damaged == 0


def test_objects_of_the_format_json(tmp_path):
    obj = {"rid": "1", "text": None, "input_ids": [5, 6], "session_id": "s"}
    lines = [
        {"timestamp": "2026-11-01T12:00:00", "event": "request.received", "rid": "1", "obj": obj},
        {"timestamp": "2026-11-01T12:00:01", "event": "request.finished", "rid": "1", "obj": obj},
    ]
    lines[1]["out"] = {"text": "x", "meta_info": META}
    log = "".join("[2026-11-01 12:00:00] " * number + json.dumps(line) + "\n" for number, line in enumerate(lines))
    (call,), _ = read(tmp_path, log.encode())
    assert json.loads(call.body) == {"prompt": [5, 6]}
    assert (figures(call), call.session, call.timing.at) == ((342, 326, 8), "s", 1793534400.0)


def test_calls_come_in_the_order_they_were_received(tmp_path):
    log = receive(1, 0) + receive(2, 1) + finish(2, 2) + finish(1, 3) + receive(3, 4)
    calls, _ = read(tmp_path, log.encode())
    assert [(call.timing.at - 1793534400, call.usage.cached_tokens) for call in calls] == [
        (0, 326),
        (1, 326),
        (4, None),
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"text={'a' * 1024!r} ... {'b' * 1024!r}, input_ids=None, ",
        f"text=None, input_ids={list(range(9))} ... {list(range(9))}, ",
    ],
    ids=["text", "ids"],
)
def test_a_prompt_that_was_cut_counts_without_its_text(tmp_path, text):
    (call,), records = read(tmp_path, (receive(text=text) + finish(text=text)).encode())
    assert (call.body, figures(call)) == (b"", (342, 326, 8))
    assert "--log-requests-level 3 keeps it whole" in records.remarks[0].what


def test_levels_without_prompts(tmp_path):
    (call,), _ = read(tmp_path, (receive(text="") + finish(text="")).encode())
    assert (call.body, figures(call)) == (b"", (342, 326, 8))


def test_what_is_no_call(tmp_path):
    openai = "[2026-11-01 12:00:00] Receive OpenAI: obj={'model': 'm', 'messages': []}\n"
    log = openai + receive("HEALTH_CHECK_1") + "INFO:     127.0.0.1:1 - GET /\n" + receive() + finish()
    assert len(read(tmp_path, log.encode())[0]) == 1


def test_one_bad_record_among_good_ones(tmp_path):
    latin = receive(4).encode().replace(b"short", b"sh\xf6rt")
    data = (finish(1) + finish(2)[:150] + "\n" + finish(3).split("'meta_info'")[0] + "\n").encode() + latin
    calls, records = read(tmp_path, data + finish(5).encode())
    assert len(calls) == 2
    assert [(one.line, one.reason[:38]) for one in records.skipped] == [
        (2, "cut off: the request does not end on i"),
        (3, "cut off: the answer of this request ha"),
        (4, "not UTF-8, expected a request log in U"),
    ]
