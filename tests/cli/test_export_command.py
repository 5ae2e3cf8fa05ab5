"""`hitrate export` and `hitrate import`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hitrate.logs.store import Store
from hitrate.record.content_key import ContentKey
from hitrate.record.no_content import ContentHasher

SESSIONS = sorted((Path(__file__).parents[1] / "explain" / "sessions").glob("*.json"))


def exchange(number: int, text: str = "Hello there.") -> dict:
    body = {"model": "m", "messages": [{"role": "system", "content": text}, {"role": "user", "content": f"Q{number}"}]}
    usage = {"prompt_tokens": 900, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 0}}
    at = f"2026-11-01T12:0{number}:00Z"
    return {"at": at, "session": f"s{number % 2}", "body": body, "response": {"usage": usage}}


@pytest.fixture
def log(tmp_path):
    file = tmp_path / "log.jsonl"
    file.write_text("".join(json.dumps(exchange(number)) + "\n" for number in range(4)))
    return file


def imported(hitrate, *files) -> list[str]:
    got = hitrate("import", *files)
    assert (got.code, got.err) == (0, "")
    return got.out.split()


def test_an_import_leaves_out_the_keys_that_a_log_has(hitrate, tmp_path):
    key = "sk-planted-0123456789"
    made = exchange(0)
    made["body"] |= {"api_key": key, "extra_headers": {"Authorization": f"Bearer {key}", "x-session-id": "s"}}
    made["body"]["messages"][1]["content"] = f"why is {key} wrong?"
    Path("log.jsonl").write_text(json.dumps(made) + "\n")
    (run,) = imported(hitrate, "log.jsonl")
    body = json.loads(hitrate("export", run).out)["body"]
    assert (body["api_key"], body["messages"][1]["content"]) == ("***", "why is *** wrong?")
    assert body["extra_headers"] == {"Authorization": "***", "x-session-id": "s"}
    Path("again.jsonl").write_text(hitrate("export", run).out)
    (again,) = imported(hitrate, "again.jsonl")
    assert hitrate("export", again).out == hitrate("export", run).out


@pytest.mark.parametrize("session", SESSIONS, ids=lambda path: path.stem)
def test_export_import_export_is_the_same_to_the_byte(hitrate, session, tmp_path):
    assert hitrate("export", session, "-o", "a.jsonl").code == 0
    (run,) = imported(hitrate, "a.jsonl")
    assert hitrate("export", run, "-o", "b.jsonl").code == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes() != b""


def test_a_log_becomes_a_run_that_reads_the_same(hitrate, log):
    (run,) = imported(hitrate, log)
    (listed,) = hitrate("runs", "--json").json["runs"]
    assert (listed["id"], listed["kind"], listed["calls"], listed["finished"]) == (run, "record", 4, True)
    was, now = (hitrate("cost", name, "--price", "1,0.1,2", "--json").json for name in (log, run))
    assert {**was, "log": "", "format": ""} == {**now, "log": "", "format": ""}


def test_each_file_is_a_run(hitrate, log, tmp_path):
    assert len(set(imported(hitrate, log, SESSIONS[0]))) == 2


def test_a_file_without_calls_leaves_no_run(hitrate, tmp_path):
    (tmp_path / "odd.jsonl").write_text('{"hitrate_call":1}\n')
    got = hitrate("import", "odd.jsonl")
    assert (got.code, "neither body nor body_base64" in got.err) == (2, True)
    assert hitrate("runs", "--json").json["runs"] == []


def test_damaged_records_are_counted(hitrate, log):
    log.write_text(log.read_text() + "{cut\n")
    got = hitrate("import", log)
    assert (got.code, got.err) == (0, f"note: 1 of 5 records of {log} cannot be used\n")


def test_sessions_and_times_are_chosen(hitrate, log):
    got = hitrate("export", log, "--session", "s1", "--since", "2026-11-01T12:02Z", "-o", "-")
    assert [json.loads(line)["session"] for line in got.out.splitlines()] == ["s1"]
    got = hitrate("export", log, "--session", "s9")
    assert (got.code, got.out, got.err) == (0, "", "note: no call is of such a session or time; nothing was written\n")


@pytest.mark.parametrize("since", ["yesterday", "-1h", ""])
def test_a_time_that_is_none_is_told(hitrate, log, since):
    got = hitrate("export", log, f"--since={since}")
    assert (got.code, "expected a time like" in got.err) == (2, True)


def test_a_trace_says_how_its_tokens_were_counted(hitrate, log):
    got = hitrate("export", log, "--format", "mooncake", "--block-tokens", "4")
    rows = [json.loads(line) for line in got.out.splitlines()]
    assert [row["timestamp"] for row in rows] == [0, 60_000, 120_000, 180_000]
    assert all(len(row["hash_ids"]) == -(-row["input_length"] // 4) for row in rows)
    assert all(row["hash_ids"][0] == 0 for row in rows)
    assert "lengths are estimates by the vocabulary o200k" in got.err and "Hello" not in got.out


def test_a_trace_of_token_ids_is_exact(hitrate, tmp_path):
    body = {"model": "m", "prompt": list(range(1000))}
    record = {"at": "2026-11-01T12:00:00Z", "body": body, "response": {"usage": {"prompt_tokens": 1000}}}
    (tmp_path / "ids.jsonl").write_text(json.dumps(record) + "\n")
    got = hitrate("export", "ids.jsonl", "--format", "mooncake")
    assert json.loads(got.out)["input_length"] == 1000
    assert "lengths are exact" in got.err and "1.00 x" in got.err


def test_a_file_that_cannot_be_written_is_told(hitrate, log):
    got = hitrate("export", log, "-o", "no/such/folder.jsonl")
    assert (got.code, "cannot write no/such/folder.jsonl" in got.err) == (2, True)


# Without content


@pytest.fixture
def hashed_run(hitrate, tmp_path):
    """A run with a clock in its system prompt, of which no content was kept."""
    hasher = ContentHasher(ContentKey(b"k" * 32, 1_793_534_400.0))
    file = tmp_path / "plain.jsonl"
    texts = [f"It is 2026-11-01 12:0{number}:07 now. " + "Northgate rents bicycles. " * 200 for number in range(3)]
    file.write_text("".join(json.dumps(exchange(2 * number, text)) + "\n" for number, text in enumerate(texts)))
    (plain,) = imported(hitrate, file)
    with Store.open() as store:
        run = store.begin_run("record", "t", "m", "hitrate proxy t --no-content", "2026-11-01", content="hashed")
        for call in store.calls(plain):
            hashed = type(call)(
                **{name: getattr(call, name) for name in call.__struct_fields__ if name != "body"},
                body=hasher.hash_request(call.body),
            )
            store.add_call(run, hashed)
        store.end_recording(run)
    return run


def test_explain_names_place_and_kind_of_what_was_not_kept(hitrate, hashed_run):
    report = hitrate("explain", hashed_run, "--json").json
    (finding,) = report["findings"]
    assert (finding["verdict"], finding["cause"], finding["pointer"]) == (
        "prefix_break",
        "clock-in-prefix",
        "/messages/0/content",
    )
    assert finding["was"].startswith("⟨") and "Content was not kept" in report["notes"][-1]


def test_content_that_was_not_kept_comes_through_export_and_import(hitrate, hashed_run, tmp_path):
    assert hitrate("export", hashed_run, "-o", "a.jsonl").code == 0
    assert b"Northgate" not in (tmp_path / "a.jsonl").read_bytes()
    was, now = (hitrate("explain", name, "--json").json for name in (hashed_run, "a.jsonl"))
    assert [one["cause"] for one in now["findings"]] == [one["cause"] for one in was["findings"]]
    assert now["notes"] == was["notes"]
    (run,) = imported(hitrate, "a.jsonl")
    assert hitrate("export", run, "-o", "b.jsonl").code == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    got = hitrate("export", run, "--format", "mooncake")
    assert "4 characters a token, since content was not kept" in got.err and got.code == 0
