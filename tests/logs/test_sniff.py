from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from log_files import chat, jsonl, opened, read

from hitrate.errors import InputFileError, UsageError
from hitrate.logs.sniff import open_log
from hitrate.targets.dialects.by_shape import read_reply
from hitrate.targets.dialects.sketch import Sketcher

CASES = os.environ.get("HITRATE_CASES")
TRACES = os.environ.get("HITRATE_TRACES")


def test_compressed_and_utf16_files_are_read_as_if_they_were_not(tmp_path):
    data = jsonl(chat(10, 0), chat(20, 10))
    plain, _ = read(tmp_path, data)
    assert read(tmp_path, gzip.compress(data))[0] == plain
    assert read(tmp_path, data.decode().encode("utf-16"))[0] == plain


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty, expected a log of requests"),
        (b" \n\n", "the file is empty, expected a log of requests"),
        (b"<html><head>", "line 1: this is HTML and not a request log"),
        (b"\xef\xbb\xbf<!DOCTYPE html>", "line 1: this is HTML and not a request log"),
        (b"SQLite format 3\x00", "this is a database; of a store of runs give the id of a run"),
        (b"PK\x03\x04", "this is a compressed archive, expected plain text or gzip"),
        (b"\x1f\x8bnot gzip at all", "cannot be decompressed"),
    ],
)
def test_what_is_no_log_is_named(tmp_path, data, message):
    with pytest.raises(InputFileError, match=message):
        opened(tmp_path, data)


def test_an_unknown_format_lists_the_known_ones(tmp_path):
    with pytest.raises(UsageError, match=r"not recognised; name it with --format, known: .*codex, .*request-pairs"):
        opened(tmp_path, b"a,b\n1,2\n")
    with pytest.raises(UsageError, match=r"no log format called 'claudecode'; known: .*; did you mean 'claude-code'"):
        opened(tmp_path, b"{}", "claudecode")


def test_the_named_format_is_believed(tmp_path):
    calls, records = read(tmp_path, jsonl(chat(10, 0)), "pi")
    assert (calls, records.read) == ([], 0)


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(InputFileError, match="cannot be opened"):
        open_log(str(tmp_path / "none"), read_reply)
    with pytest.raises(InputFileError, match="cannot be"):
        open_log(str(tmp_path), read_reply)


def test_a_first_record_longer_than_what_is_looked_at(tmp_path):
    long = chat(10, 0)
    long["body"]["messages"][0]["content"] = "x" * 200_000
    assert len(read(tmp_path, jsonl(long))[0]) == 1


@pytest.mark.skipif(not CASES, reason="HITRATE_CASES is not set")
def test_damaged_files_as_expected():
    folder = Path(CASES) / "broken"
    for name, expected in json.loads((folder / "EXPECTED.json").read_text()).items():
        try:
            log = open_log(str(folder / name), read_reply)
            used, records = list(log), log.records()
        except InputFileError:
            assert expected["records"] == 0, name
            continue
        assert (len(used), records.damaged) == (expected["records"], expected["errors"]), name
        lines = [skipped.line for skipped in records.skipped]
        assert lines == expected.get("error_lines", lines), name
        for warning in expected.get("warnings", ()):
            assert warning["line"] in {remark.line for remark in records.remarks}, name


@pytest.mark.skipif(not CASES, reason="HITRATE_CASES is not set")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("b1-empty.jsonl", ["the file is empty"]),
        ("b2-truncated.jsonl", ["cut off: the JSON value does not end"]),
        (
            "b3-wrong-types.json",
            [
                "/requests/0/body/model is an array",
                "/requests/0/body/messages is an object",
                "/requests/0/response/usage is a string",
                "/requests/1/body/messages/0/content is a number",
                "/requests/1/body/messages/2 is a string",
                "/requests/2/body is null",
            ],
        ),
        ("b4-mixed-encodings.jsonl", ["not UTF-8 at byte 696 of the file", "the line looks like UTF-16"]),
        ("b5-bom-crlf-blank.jsonl", []),
        ("b6-bad-middle.jsonl", ["NaN is not JSON", "member 'model' is given 2 times; the last value is used"]),
        ("b7-html-error.jsonl", ["this is HTML and not a request log"]),
        ("b8-surrogate-and-depth.jsonl", ["nested more than 500 levels deep"]),
    ],
)
def test_what_is_said_of_damaged_files(name, said):
    try:
        log = open_log(str(Path(str(CASES)) / "broken" / name), read_reply)
        calls, records = list(log), log.records()
        texts = [one.reason for one in records.skipped] + [one.what for one in records.remarks]
        sketcher = Sketcher()
        assert all(sketcher.sketch(call.body, call.dialect).characters for call in calls)
    except InputFileError as error:
        texts = [error.message]
    for text in said:
        assert any(text in one for one in texts), (text, texts)
    assert said or not texts


@pytest.mark.skipif(not CASES, reason="HITRATE_CASES is not set")
def test_every_record_of_every_session_is_read():
    for file in sorted(Path(CASES).glob("dev-*.json")):
        document = json.loads(file.read_text())
        log = open_log(str(file), read_reply)
        used = sum(1 for _ in log)
        assert used == len(document["requests"]) or "log" in document, file.name
        assert log.records().damaged == 0, file.name


@pytest.mark.skipif(not TRACES, reason="HITRATE_TRACES is not set")
@pytest.mark.parametrize(
    ("name", "calls", "prompt", "cached", "written", "output"),
    [
        ("pi_before-compaction", 484, 56_382_684, 54_693_675, 1_685_320, 187_895),
        ("claude_code_fe5e1c67", 170, 3_786_648, 3_647_854, 137_976, 51_933),
    ],
)
def test_real_transcripts(name, calls, prompt, cached, written, output):
    usages = [call.usage for call in open_log(f"{TRACES}/agent_usage/{name}.jsonl.gz", read_reply)]
    fields = ("prompt_tokens", "cached_tokens", "written_tokens", "output_tokens")
    sums = [sum(getattr(usage, field) or 0 for usage in usages) for field in fields]
    assert (len(usages), *sums) == (calls, prompt, cached, written, output)


LINES = jsonl(*(chat(10 + number, 0, at=1793534400 + number) for number in range(50)))


@pytest.mark.parametrize("cut", [1, 4, 8, 9, 40])
def test_a_compressed_file_that_is_cut_off_keeps_its_lines(tmp_path, cut):
    calls, records = read(tmp_path, gzip.compress(LINES)[:-cut])
    assert 40 <= len(calls) <= 50
    assert "cannot be read on from here: Compressed file ended" in records.skipped[-1].reason


@pytest.mark.parametrize(
    ("data", "calls", "reason"),
    [
        (gzip.compress(LINES) + b"garbage", 50, "Not a gzipped file"),
        (gzip.compress(LINES) + gzip.compress(LINES) + b"garbage", 100, "Not a gzipped file"),
        (gzip.compress(LINES.rstrip()) + b"garbage", 50, "Not a gzipped file"),
        (gzip.compress(LINES)[:-8] + bytes(8), 50, "CRC check failed"),
    ],
)
def test_a_compressed_file_with_something_wrong_at_its_end(tmp_path, data, calls, reason):
    found, records = read(tmp_path, data)
    assert (len(found), records.damaged) == (calls, 1)
    assert reason in records.skipped[0].reason


def test_a_document_that_is_compressed_and_cut_off(tmp_path):
    document = json.dumps({"requests": [chat(10, 0)] * 20}).encode()
    found, records = read(tmp_path, gzip.compress(document)[:-12])
    assert (found, [one.reason[:31] for one in records.skipped]) == ([], ["the compressed file is cut off:"])


@pytest.mark.parametrize(
    ("data", "used", "line", "reason"),
    [
        (b"x" * 200_000 + b"\n" + LINES, 50, 1, "expected JSON: expecting value"),
        (b"starting up\n" + b"x" * 200_000 + b"\n" + LINES, 50, 1, "expected JSON: expecting value"),
        (jsonl(chat(10, 0)).replace(b'"hi"', b'"h\xe9"') * 2, 0, 1, "not UTF-8 at byte 97 of the file, 0xe9"),
    ],
    ids=["a long line of something else", "two such lines", "Latin-1"],
)
def test_the_first_lines_are_no_json(tmp_path, data, used, line, reason):
    found, records = read(tmp_path, data)
    assert (len(found), records.skipped[0].line) == (used, line)
    assert reason in records.skipped[0].reason


def test_a_format_that_is_not_recognised_says_what_is_there(tmp_path):
    with pytest.raises(UsageError, match=r"log, line 1, column 2: cut off: .*; the format of this log is not recogn"):
        opened(tmp_path, b"{\n")
    with pytest.raises(UsageError, match=r"log, line 2, column 1: expected JSON: expecting value; the format of this"):
        opened(tmp_path, b"\nTime: 9\n")
