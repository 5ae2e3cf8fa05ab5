"""Exports that are packed, damaged, or have members of other types than they should."""

from __future__ import annotations

import gzip
import json
import random

import pytest
from exports import (
    HANDBOOK,
    PROMPTS,
    WITH_TEXT,
    batch_request,
    batch_result,
    flow,
    har,
    har_entry,
    helicone,
    langfuse,
    lines,
    litellm_payload,
    litellm_spend,
    netstring,
    openrouter,
)  # fmt: skip
from log_files import read

from hitrate.errors import InputFileError, UsageError

EXPORTS = pytest.mark.parametrize("name", WITH_TEXT)


@EXPORTS
@pytest.mark.parametrize("pack", [gzip.compress, lambda data: data.decode().encode("utf-16")], ids=["gzip", "UTF-16"])
def test_packed_files_are_read_as_if_they_were_not(tmp_path, name, pack):
    format, data = WITH_TEXT[name]
    if format == "mitmproxy" and pack is not gzip.compress:
        pytest.skip("flows are bytes and no text")
    assert read(tmp_path, pack(data)) == read(tmp_path, data)


@EXPORTS
def test_a_compressed_file_that_is_cut_off_at_its_end_keeps_all_calls(tmp_path, name):
    format, data = WITH_TEXT[name]
    calls, records = read(tmp_path, gzip.compress(data)[:-8], format)
    assert (len(calls), records.damaged) == (len(PROMPTS), 1)
    assert "the compressed file cannot be read on" in records.skipped[0].reason


@EXPORTS
def test_a_named_format_reads_what_has_lost_its_start(tmp_path, name):
    format, data = WITH_TEXT[name]
    calls, _ = read(tmp_path, data, format)
    assert len(calls) == len(PROMPTS)


@EXPORTS
def test_damage_anywhere_loses_no_more_than_it_must_and_says_so(tmp_path, name):
    """Bytes overwritten or cut off at thirty places: reading never fails, and what is lost is told."""
    format, data = WITH_TEXT[name]
    chance = random.Random(name)
    for _ in range(30):
        place = chance.randrange(data.find(b"\n") + 1, len(data))
        damaged = data[:place] if chance.random() < 0.3 else data[:place] + chance.randbytes(3) + data[place + 3 :]
        try:
            calls, records = read(tmp_path, damaged, format)
        except (InputFileError, UsageError):
            continue
        assert len(calls) <= len(PROMPTS)
        told = records.damaged + len(records.remarks)
        assert told or len(calls) == len(PROMPTS) or format == "openai-batch"


ODD = (None, True, -1, 1e300, "x", "{", [1, None], {"a": [1]}, "NaN", 10**400)


def with_odd_values(record, depth=3):
    """Copies of a record with each member, down to some levels, in turn being something else."""
    for name, value in record.items():
        yield from ({**record, name: odd} for odd in ODD)
        if isinstance(value, dict) and depth:
            yield from ({**record, name: inner} for inner in with_odd_values(value, depth - 1))
        elif isinstance(value, list) and value and isinstance(value[0], dict) and depth:
            yield from ({**record, name: [inner, *value[1:]]} for inner in with_odd_values(value[0], depth - 1))


def small(record):
    return json.loads(json.dumps(record).replace(HANDBOOK, "many parts"))


@pytest.mark.parametrize(
    ("format", "record"),
    [
        ("litellm", litellm_spend(0)),
        ("litellm", litellm_payload(0)),
        ("langfuse", langfuse(0)),
        ("helicone", helicone(0)),
        ("openrouter", openrouter(0)),
        ("openai-batch", batch_request(0)),
        ("openai-batch", batch_result(0)),
        ("har", har_entry(0)),
    ],
    ids=["litellm spend", "litellm payload", "langfuse", "helicone", "openrouter", "request", "result", "har"],
)
def test_members_of_any_type_break_nothing(tmp_path, format, record):
    odd = list(with_odd_values(small(record)))
    if format == "openai-batch":
        odd = [{**one, "custom_id": f"{number}"} for number, one in enumerate(odd)]
    calls, records = read(tmp_path, har(odd) if format == "har" else lines(odd), format)
    assert 0 < len(calls) <= len(odd)
    assert len(calls) + records.damaged <= len(odd)
    for call in calls:
        assert isinstance(call.model, str | None)
        assert isinstance(call.session, str)
        assert call.usage.prompt_tokens is None or call.usage.prompt_tokens >= 0


def test_flows_with_members_of_any_type(tmp_path):
    whole = flow(0)
    whole["request"]["content"] = json.dumps(small(json.loads(whole["request"]["content"]))).encode()
    odd = [one for one in with_odd_values(whole) if not any(value in (1e300, 10**400) for value in one.values())]
    calls, _ = read(tmp_path, b"".join(map(netstring, odd)), "mitmproxy")
    assert 0 < len(calls) <= len(odd)
