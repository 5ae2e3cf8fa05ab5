"""Which format a file is told to be in where several could be meant."""

from __future__ import annotations

import json

import pytest
from exports import WITH_TEXT, answer, body, langfuse, litellm_spend, openrouter
from log_files import opened

from hitrate.logs.lines import HEAD_BYTES
from hitrate.logs.sniff import READERS

PAIR = {"at": "2026-11-01T12:00:00Z", "body": body(0), "response": answer(0)}
LONG = "x" * (2 * HEAD_BYTES)


@pytest.mark.parametrize("name", WITH_TEXT)
def test_one_reader_and_the_right_one_knows_each_export(name):
    format, data = WITH_TEXT[name]
    head = data[:HEAD_BYTES]
    own = [reader.name for reader in READERS if reader.matches(head, "file")]
    assert own[0] == format
    generic = {"session", "request-pairs", "exchange"}
    assert set(own[1:]) <= generic


@pytest.mark.parametrize(
    ("record", "format"),
    [
        (PAIR, "request-pairs"),
        ({**PAIR, "startTime": "2026-11-01T12:00:00Z", "traceId": "t"}, "request-pairs"),
        ({**PAIR, "custom_id": "a"}, "openai-batch"),
        ({**PAIR, "request_id": "r", "call_type": "chat"}, "litellm"),
        ({**PAIR, "provider_name": "OpenAI", "cost": 0.1}, "request-pairs"),
        ({**body(0), "metadata": {"trace_id": "t", "call_type": "x"}}, "request-pairs"),
        ({"requests": [PAIR]}, "session"),
        ({"data": [PAIR]}, None),
        (langfuse(0), "langfuse"),
        ({**langfuse(0), "call_type": "acompletion"}, "langfuse"),
        (litellm_spend(0), "litellm"),
        ({"data": openrouter(0)}, "openrouter"),
        ({"data": {"x": 1}}, None),
        ({"log": {"version": "1.2"}}, None),
    ],
)
def test_a_line_that_could_be_several(tmp_path, record, format):
    if format is None:
        assert not any(reader.matches(json.dumps(record).encode(), "file") for reader in READERS)
    else:
        assert opened(tmp_path, json.dumps(record).encode() + b"\n").format == format


@pytest.mark.parametrize(
    ("record", "format"),
    [
        (litellm_spend(0, messages=LONG), "litellm"),
        (langfuse(0, input=[{"role": "user", "content": LONG + '"traceId": {["'}]), "langfuse"),
        (
            {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": [LONG]}},
            "openai-batch",
        ),
        ({"at": 1, "body": {"messages": [{"role": "user", "content": LONG}]}}, "request-pairs"),
    ],
)
@pytest.mark.parametrize("wrap", [lambda text: text, lambda text: f"[{text}]"], ids=["line", "array"])
def test_a_first_record_longer_than_what_is_looked_at(tmp_path, record, format, wrap):
    if format == "openai-batch" and wrap("") == "[]":
        pytest.skip("batch files are lines")
    found = opened(tmp_path, wrap(json.dumps(record)).encode()).format
    assert found == ("session" if format == "request-pairs" and wrap("") == "[]" else format)
