"""What is read the fast way is read as by decoding every line."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from log_files import jsonl, opened

from hitrate.logs.split import Splitter, _text_messages

USAGE = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 64}}
MESSAGE = st.sampled_from([
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": 'a "messages": [ é', "tool_calls": [{"function": {"name": "f"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "r"}]},
    {"role": 5, "content": "a number for a role"},
    {"role": "user", "content": {"not": "allowed"}},
    "no message",
    {"role": "user", "content": "\ud83d"},
])  # fmt: skip
BODY = st.fixed_dictionaries(
    {},
    optional={
        "model": st.sampled_from(["m", 5]),
        "messages": st.lists(MESSAGE, max_size=3),
        "tools": st.sampled_from([[], [{"name": "f", "input_schema": {}}], "none"]),
        "input": st.lists(MESSAGE, max_size=2),
        "system": st.just("s"),
        "contents": st.lists(st.just({"role": "user", "parts": [{"text": "a"}]}), max_size=2),
        "modelId": st.just("b"),
        "session_id": st.just("own"),
    },
)
RESPONSE = st.sampled_from([{"usage": USAGE}, {"id": "r1", "usage": USAGE}, {"status": 500}, "cut", None])
EXTRA = st.fixed_dictionaries(
    {}, optional={"at": st.sampled_from(["2026-11-01T12:00:00Z", 17]), "session": st.sampled_from(["s", 3])}
)
RECORD = st.one_of(
    st.builds(lambda body, response, extra: {**extra, "body": body, "response": response}, BODY, RESPONSE, EXTRA),
    st.builds(lambda body, response, extra: {**extra, "response": response, "request": body}, BODY, RESPONSE, EXTRA),
    st.builds(lambda body: {"request": {"url": "/v1", "body": body}, "response": {"body": {"usage": USAGE}}}, BODY),
    st.builds(lambda body, extra: {**body, **extra}, BODY, EXTRA),
    st.just({"body": {"messages": []}, "x": {"body": {"messages": []}}}),
)
DAMAGE = st.sampled_from([
    lambda line: line,
    lambda line: line,
    lambda line: line,
    lambda line: line[:-3] or line,
    lambda line: line.replace(b'"m"', b"NaN"),
    lambda line: line.replace(b"hi", b"\xff"),
    lambda line: line.replace(b'"role": "user"', b'"role": "user", "role": "tool"'),
    lambda line: line.replace(b'"role": "user"', b'"role": "user", "r\\u006fle": "tool"'),
    lambda line: line.replace(b'"body": {', b'"body": {"model": "twice", "model": "n", '),
    lambda line: line.replace(b'"messages": [', b'"messages": [], "messages": ['),
    lambda line: line[:-1] + b', "body": {"messages": []}}',
    lambda line: line.replace(b'"hi"', b"[" * 495 + b"]" * 495),
    lambda line: b"\x00" + line,
    lambda line: line.replace(b" ", b"  "),
])  # fmt: skip
LINES = st.lists(
    st.builds(lambda record, damage: damage(json.dumps(record).encode()), RECORD, DAMAGE), min_size=1, max_size=8
)


@hypothesis_settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES)
@example([b'{"input": []}', b'{"input": [], "body": {"messages": []}}'])
def test_both_ways_read_the_same(tmp_path, monkeypatch, lines):
    data = b"\n".join([*lines, *lines])

    def read():
        log = opened(tmp_path, data, "request-pairs")
        return list(log), log.records()

    fast = read()
    with monkeypatch.context() as patch:
        patch.setattr(Splitter, "split", lambda self, data: None)
        assert read() == fast


@pytest.mark.parametrize("compact", [True, False])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda body, number: {"at": number, "body": body, "response": {"id": str(number), "usage": USAGE}},
        lambda body, number: {"response": {"usage": USAGE}, "request": {"url": "/v1", "body": body}},
        lambda body, number: body,
        lambda body, number: {**body, "usage": USAGE},
    ],
)
@pytest.mark.parametrize("member", ["messages", "input", "contents"])
def test_usual_lines_are_not_decoded_but_for_the_first(tmp_path, monkeypatch, member, wrap, compact):
    messages = [{"role": "user", "content": f"question {number}"} for number in range(5)]
    bodies = [{"model": "m", member: messages[:count], "stream": True} for count in range(1, 6)]
    separators = (",", ":") if compact else None
    records = [wrap(body, 1793534400 + number) for number, body in enumerate(bodies)]
    data = b"\n".join(json.dumps(record, separators=separators).encode() for record in records)
    decoded = []
    monkeypatch.setattr(
        "hitrate.logs.formats.request_pairs.decoded", lambda *arguments: decoded.append(arguments) or real(*arguments)
    )
    calls = list(opened(tmp_path, data, "request-pairs"))
    assert [json.loads(call.body)[member] for call in calls] == [messages[:count] for count in range(1, 6)]
    assert len(decoded) == 1


def real(data, number, offset):
    from hitrate.logs import lines

    return lines.decoded(data, number, offset)


def test_writers_of_several_layouts_in_one_log(tmp_path):
    wire = {"openai-chat": "messages", "openai-responses": "input", "gemini-generate": "contents"}
    records = [{"body": {"model": "m", member: []}, "at": 1793534400} for member in wire.values()] * 4
    calls = list(opened(tmp_path, jsonl(*records), "request-pairs"))
    assert [call.dialect for call in calls] == list(wire) * 4


TEXT = st.sampled_from(["", "hi", 'say "role"', "\\", '\\"', '"', "a\nb", "\u00e9", '", "role": "', '{"role": "x"}'])
NAMES = st.sampled_from(['"role"', '"content"', '"r\\u006fle"', '"con\\u0074ent"'])
SPELLED = st.builds(
    lambda text, quote: "".join(['"', *(quote if one == '"' else json.dumps(one)[1:-1] for one in text), '"']),
    *(TEXT, st.sampled_from(['\\"', '\\"', "\\u0022"])),
)
SPELLED_MESSAGE = st.builds(
    lambda role, content, more: f"{{{', '.join([role, content, *more])}}}",
    st.builds('"role": {}'.format, SPELLED),
    st.builds('"content":{}'.format, SPELLED),
    st.just([]) | st.just([]) | st.lists(st.builds("{}:{}".format, NAMES, SPELLED), max_size=2),
)


@hypothesis_settings(max_examples=200)
@given(st.lists(SPELLED_MESSAGE, max_size=4))
@example(['{"role": "\\u0022\\u0022\\u0022\\u0022", "content": "", "content": ""}'])
def test_messages_are_read_as_texts_where_no_member_is_given_twice(messages):
    array = f"[{', '.join(messages)}]".encode()
    members = []
    json.loads(array, object_pairs_hook=members.append)
    found = _text_messages(array)
    if messages and all(len(pairs) == 2 for pairs in members):
        spelled = [{"role": message.role, "content": message.content} for message in found or ()]
        assert spelled == json.loads(array) or (found is None and b"\\u0022" in array)
    else:
        assert found is None
