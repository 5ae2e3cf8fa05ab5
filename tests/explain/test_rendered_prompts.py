"""Prompts that were rendered before they were sent, explained from log to findings."""

from __future__ import annotations

from typing import Any

from msgspec.json import encode

from hitrate.explaining import explain_log
from hitrate.logs.sniff import open_log
from hitrate.targets.dialects.by_shape import read_reply


def explained(tmp_path, records: list[dict[str, Any]]):
    file = tmp_path / "log.jsonl"
    file.write_bytes(b"".join(encode(one) + b"\n" for one in records))
    return explain_log(open_log(str(file), read_reply))


def test_requests_that_cannot_be_read_are_listed(tmp_path):
    usage = {"prompt_tokens": 50, "completion_tokens": 1}
    prompts = ["one", ["two", "prompts"], "one and more"]
    report = explained(tmp_path, [{"body": {"prompt": prompt}, "response": {"usage": usage}} for prompt in prompts])
    records = report.records
    assert (records.read, records.used, records.damaged, records.left_out) == (3, 3, 0, 1)
    assert [(one.line, one.reason, one.counted) for one in records.skipped] == [
        (2, "the request of call 1 cannot be read: /prompt: several prompts in one request", True)
    ]
    assert report.waterfall.prompt_tokens == 150
