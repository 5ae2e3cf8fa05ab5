from __future__ import annotations

import gzip
import json
import zlib

import pytest
from exports import KEY, PROMPTS, START, answer, body, event_stream, flow, netstring
from log_files import opened, read

from hitrate.errors import UsageError


def changed(turn=0, *, headers=(), content=b"", **more):
    """A flow with another response."""
    made = flow(turn, **more)
    made["response"] = {**made["response"], "headers": headers, "content": content}
    return made


def one(tmp_path, made):
    calls, records = read(tmp_path, netstring(made))
    assert (len(calls), records.damaged) == (1, 0), records
    return calls[0], [remark.what for remark in records.remarks]


def test_a_flow(tmp_path):
    call, remarks = one(tmp_path, flow(0))
    assert (call.target, call.dialect, call.model, call.status, call.session) == (
        "openai",
        "openai-chat",
        "gpt-5.2",
        200,
        "s-1",
    )
    assert (call.timing.at, call.timing.headers_s, call.timing.total_s) == (START, pytest.approx(0.4), 2.5)
    assert (call.usage.prompt_tokens, call.usage.cached_tokens) == (PROMPTS[0], 0)
    assert (json.loads(call.body), call.reply.text) == (body(0), "Answer 0: the long one.")
    assert KEY not in repr(call)
    assert remarks == []


def old(data):
    """The same in version 0.13: bytes for names, a code, content by another name, text in bytes."""
    request, response = dict(data["request"]), dict(data["response"])
    response["code"] = response.pop("status_code")
    for message in (request, response):
        message["body"] = message.pop("content")
        message["headers"] = [list(pair) for pair in message["headers"]]
    request["host"] = request["host"].encode()
    del request["authority"]
    return {"version": [0, 13], "type": b"http", "id": b"0", "request": request, "response": response}


def as_bytes(value):
    """Netstrings whose names are bytes, as before 0.18."""
    if isinstance(value, dict):
        inner = b"".join(netstring(name.encode()) + as_bytes(held) for name, held in value.items())
        return b"%d:%s}" % (len(inner), inner)
    return netstring(value)


@pytest.mark.parametrize(
    "data", [as_bytes(old(flow(0))), netstring(old(flow(0))), b"\n" + netstring(flow(0))], ids=["0.13", "names", "now"]
)
def test_versions_of_the_format(tmp_path, data):
    log = opened(tmp_path, data)
    (call,) = log
    assert (log.format, call.target, call.status, call.usage.prompt_tokens) == ("mitmproxy", "openai", 200, PROMPTS[0])
    assert json.loads(call.body) == body(0)


def deflated(data, window):
    packer = zlib.compressobj(wbits=window)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("coding", "content", "prompt", "remark"),
    [
        (b"gzip", gzip.compress(event_stream(0)), PROMPTS[0], None),
        (b"gzip", gzip.compress(event_stream(0)[:50]) + gzip.compress(event_stream(0)[50:]), PROMPTS[0], None),
        (b"deflate", deflated(event_stream(0), 15), PROMPTS[0], None),
        (b"deflate", deflated(event_stream(0), -15), PROMPTS[0], None),
        (b"gzip", event_stream(0), PROMPTS[0], None),
        (b"br", json.dumps(answer(0)).encode(), PROMPTS[0], None),
        (b"br", b"\x1b\x03", None, "the answer is compressed as 'br', which is not read here"),
        (b"gzip", b"\x1f\x8b\x08\x00garbage", None, "the answer cannot be decompressed: "),
    ],
)
def test_content_codings(tmp_path, coding, content, prompt, remark):
    call, remarks = one(tmp_path, changed(headers=((b"Content-Encoding", coding),), content=content))
    assert call.usage.prompt_tokens == prompt
    assert [remark in one for one in remarks] == ([True] if remark else [])


def test_what_is_no_call_is_counted_and_left_out(tmp_path):
    page = flow(0)
    page["request"] = {**page["request"], "method": b"GET", "path": b"/index.html"}
    tcp = {"version": 21, "type": "tcp", "id": "t", "messages": []}
    calls, records = read(tmp_path, netstring(page) + netstring(tcp) + netstring(flow(0)) + netstring(tcp))
    assert len(calls) == 1
    assert [(remark.line, remark.what) for remark in records.remarks] == [
        (1, "1 record left out: other requests than calls of models"),
        (2, "2 records left out: flows that are no HTTP"),
    ]


def test_a_flow_without_an_answer(tmp_path):
    call, _ = one(tmp_path, flow(0, response=None, error={"msg": "connection reset", "timestamp": START + 1}))
    assert (call.status, call.error, call.usage.prompt_tokens) == (None, "connection reset", None)


def test_flows_stand_in_the_order_of_their_ends_and_are_read_in_that_of_their_starts(tmp_path):
    calls, _ = read(tmp_path, b"".join(netstring(flow(turn)) for turn in (1, 2, 0)))
    assert [call.usage.prompt_tokens for call in calls] == list(PROMPTS[:3])


WHOLE = netstring(flow(0))
BAD_INSIDE = netstring({"version": 21, "request": b"x"}).replace(b"1:x,", b"9:x,")


@pytest.mark.parametrize(
    ("data", "calls", "reasons"),
    [
        (
            WHOLE + WHOLE[:-100],
            1,
            [f"flow 2: cut off, {len(WHOLE) - 7:,} bytes expected; nothing behind it can be read"],
        ),
        (
            WHOLE + b"garbage" + WHOLE,
            1,
            ["flow 2: no typed netstring, as mitmproxy writes them; nothing behind it can"],
        ),
        (WHOLE + BAD_INSIDE + WHOLE, 2, ["flow 2: a netstring that is longer than what holds it"]),
        (WHOLE + netstring([1]) + WHOLE, 1, ["flow 2: expected an object, found the type b']'; nothing behind it can"]),
        (WHOLE + netstring({}) + WHOLE, 2, []),
    ],
    ids=["cut off", "garbage between", "damaged inside", "another type", "an empty object"],
)
def test_damaged_files(tmp_path, data, calls, reasons):
    found, records = read(tmp_path, data)
    assert len(found) == calls
    assert [one.reason[: len(reason)] for one, reason in zip(records.skipped, reasons, strict=True)] == reasons


def test_a_huge_flow_is_read_over(tmp_path, monkeypatch):
    monkeypatch.setattr("hitrate.logs.formats.mitmproxy._LONGEST_FLOW", 12_000)
    large = flow(0)
    large["response"]["content"] += b"x" * 20_000
    found, records = read(tmp_path, netstring(large) + WHOLE)
    assert len(found) == 1
    assert "bytes, expected at most 12,000" in records.skipped[0].reason


def test_netstrings_of_something_else_are_not_taken_for_flows(tmp_path):
    with pytest.raises(UsageError, match="not recognised"):
        opened(tmp_path, b"5:hello,5:world,")
