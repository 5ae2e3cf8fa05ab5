"""A call as a line of JSON, and back."""

from __future__ import annotations

import json
import math

import pytest

from hitrate.core.model import Call, Happening, Reply, Timing, Usage
from hitrate.logs.call_lines import call_of_line, line_of

BODY = b'{"model": "m",  "messages":[{"role":"user","content":"hi \xc3\xa9"}]}'
FULL = Call(
    target="openai",
    dialect="openai-chat",
    body=BODY,
    model="m",
    session="s \ud800",
    turn=3,
    label="warm-up",
    headers={"x-session-id": "s"},
    status=200,
    usage=Usage(prompt_tokens=2**70, cached_tokens=0, cached_source="null", sources={"prompt_tokens": "usage.a"}),
    timing=Timing(at=1.79e9, sent_at_s=12.5, ttft_s=0.25, first_read_tokens=2),
    reply=Reply(
        message={"role": "assistant", "content": "yes"},
        text="yes",
        tool_calls=({"id": "c"},),
        token_ids=(1, 2),
        server_timings={"prompt_ms": 1.5},
    ),
    response_headers={"server": "x"},
    waits=(1.5, 2.0),
    error="cut",
    raw_usage={"prompt_tokens": 2**70, "odd": {"deep": [None, 1e300]}},
    happenings=(Happening(kind="compaction", detail="of 9 tokens", at=None), Happening(kind="setting", at=1.0)),
    line=7,
    rebuilt=True,
    diagnosis={"cache_miss_reason": {"type": "system_changed"}},
)


@pytest.mark.parametrize(
    "body",
    [
        BODY,
        b"",
        b"{}",
        b"not json",
        b'{"a":\n1}',
        b' {"a":1}',
        b'{"a": NaN}',
        b'{"a":1,"a":2}',
        b'{"a":"\\ud800"}',
        b"\xff\xfe",
        b'\xef\xbb\xbf{"a":1}',
        b"[1, 2]",
        b'"text"',
    ],
)
def test_every_body_comes_back_byte_for_byte(body):
    line = line_of(Call(target="t", dialect="d", body=body))
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert call_of_line(line) == (Call(target="t", dialect="d", body=body), False)


def test_every_field_comes_back():
    assert call_of_line(line_of(FULL, hashed=True)) == (FULL, True)


def test_a_number_that_is_none_comes_back():
    call, _ = call_of_line(line_of(Call(target="t", dialect="d", body=b"{}", raw_usage={"cost": math.nan})))
    assert call.body == b"{}" and math.isnan(call.raw_usage["cost"])


def test_a_line_is_json_with_the_body_in_it():
    line = json.loads(line_of(FULL))
    assert (line["hitrate_call"], line["body"]["messages"][0]["content"]) == (1, "hi é")
    assert "content" not in line and list(line)[-1] == "body"


def test_what_is_at_its_default_is_left_out():
    assert (
        line_of(Call(target="t", dialect="d", body=b"{}"))
        == b'{"hitrate_call":1,"target":"t","dialect":"d","body":{}}\n'
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[]", "expected an object"),
        (b'{"target":"t","dialect":"d","body":{}}', "expected an object with 'hitrate_call': 1"),
        (b'{"hitrate_call":2,"body":{}}', "expected an object with 'hitrate_call': 1"),
        (b'{"hitrate_call":1,"target":"t","dialect":"d"}', "neither body nor body_base64"),
        (b'{"hitrate_call":1,"target":"t","dialect":"d","body_base64":"?"}', "no base64"),
        (b'{"hitrate_call":1,"target":5,"dialect":"d","body":{}}', "it is no call"),
        (b'{"hitrate_call":1,"target":"t","dialect":"d","usage":[],"body":{}}', "it is no call"),
        (b'{"hitrate_call":1,', "JSON|Expecting|property"),
    ],
)
def test_what_is_no_such_line_is_told(line, reason):
    with pytest.raises(ValueError, match=reason):
        call_of_line(line)
