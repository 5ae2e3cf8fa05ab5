from __future__ import annotations

import json

import pytest
from log_files import chat, opened, read

BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": []}


def pretty(value, **options) -> bytes:
    return json.dumps(value, indent=2, **options).encode() + b"\n"


@pytest.mark.parametrize(
    ("record", "tokens"),
    [(BODY, None), ({"prompt": "hi\nthere"}, None), ({"body": BODY}, None), (chat(9, 4), 9)],
    ids=["request", "rendered", "in a record", "with its response"],
)
def test_a_document_over_several_lines(tmp_path, record, tokens):
    log = opened(tmp_path, b"\xef\xbb\xbf" + pretty(record))
    (call,) = log
    assert log.format == "exchange"
    assert json.loads(call.body) == record.get("body", record)
    assert (call.usage.prompt_tokens, call.line, log.records().used) == (tokens, 1, 1)


def test_the_body_keeps_its_bytes(tmp_path):
    (call,), _ = read(tmp_path, pretty({"body": BODY}, sort_keys=True))
    assert call.body.startswith(b'{\n    "messages"')


@pytest.mark.parametrize(
    ("data", "line", "reason"),
    [
        (pretty(BODY) + pretty(BODY), 11, "extra data; of several requests each has to stand on one line"),
        (pretty(BODY)[:-3], 9, "cut off: the JSON value does not end"),
        (pretty(BODY).replace(b"hi", b"h\xe9"), 6, "not UTF-8 at byte"),
    ],
)
def test_a_damaged_document(tmp_path, data, line, reason):
    calls, records = read(tmp_path, data)
    (skipped,) = records.skipped
    assert (calls, skipped.line) == ([], line)
    assert reason in skipped.reason
