"""A clock in the instructions, found in every export of the same conversation by every command that reads logs."""

from __future__ import annotations

import gzip
import json
import random

import pytest
from exports import OUTPUT, PROMPTS, WITH_TEXT
from log_files import read

from hitrate.cli.group import run
from hitrate.errors import InputFileError, UsageError

EXPORTS = pytest.mark.parametrize("name", WITH_TEXT)


@pytest.fixture(autouse=True)
def own_place(tmp_path, monkeypatch):
    monkeypatch.setenv("HITRATE_STORE", str(tmp_path / "runs.sqlite3"))
    monkeypatch.setattr("hitrate.targets.presets.platformdirs.user_config_path", lambda name: tmp_path / "config")


@pytest.fixture
def said(tmp_path, capsys):
    """The exit code of a command on an export, and its JSON."""

    def command(name: str, verb: str, *arguments: str):
        file = tmp_path / "export"
        file.write_bytes(WITH_TEXT[name][1])
        code = run([verb, str(file), "--json", *arguments])
        return code, json.loads(capsys.readouterr().out)

    return command


@EXPORTS
def test_explain_names_the_place(said, name):
    code, report = said(name, "explain")
    assert (code, report["format"], report["calls"]) == (0, WITH_TEXT[name][0], len(PROMPTS))
    (finding,) = report["findings"]
    assert (finding["cause"], finding["pointer"], finding["call"], finding["against"]) == (
        "clock-in-prefix",
        "/messages/0/content",
        1,
        0,
    )
    assert (finding["occurrences"], report["sessions"]) == (3, 1)
    assert report["records"]["damaged"] == 0


@EXPORTS
def test_cost_bills_each_call_once(said, name):
    code, report = said(name, "cost")
    table = name == "helicone table"  # its columns have no cached tokens
    assert (code, report["calls"], report["prompt_tokens"], report["output_tokens"]) == (
        0,
        len(PROMPTS),
        sum(PROMPTS),
        OUTPUT * len(PROMPTS),
    )
    assert report["not_reported"] == (len(PROMPTS) if table else 0)
    assert report["cached_tokens"] == (None if table else 0)
    assert report["unpriced_calls"] == 0
    assert report["usd_logged"] == (None if WITH_TEXT[name][0] in ("openai-batch", "har", "mitmproxy") else 4 * 0.0043)


@EXPORTS
def test_check_fails_on_it(said, name):
    assert said(name, "check", "--no-breaks")[0] == 1


@EXPORTS
def test_whatif_says_what_the_fix_is_worth(said, name):
    code, report = said(name, "whatif", "--move-clock-last")
    assert code == 0
    as_sent, fixed = report["scenarios"]
    assert (report["replayed"], as_sent["hit_rate"], fixed["changed_calls"]) == (len(PROMPTS), 0.0, len(PROMPTS))
    assert fixed["hit_rate"] > 0.7


@EXPORTS
@pytest.mark.parametrize("pack", [gzip.compress, lambda data: data.decode().encode("utf-16")], ids=["gzip", "UTF-16"])
def test_packed_files_are_read_as_if_they_were_not(tmp_path, name, pack):
    format, data = WITH_TEXT[name]
    if format == "mitmproxy" and pack is not gzip.compress:
        pytest.skip("flows are bytes and no text")
    assert read(tmp_path, pack(data)) == read(tmp_path, data)


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
