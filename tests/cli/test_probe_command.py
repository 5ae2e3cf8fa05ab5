"""`hitrate probe` from end to end on practice servers."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from hitrate.core.probe_results import PROBES

SHORT = ("--time", "1.5")


@pytest.fixture
def on(hitrate):
    def probed(url, *options, target="practice"):
        got = hitrate("probe", target, "--base-url", url, "--json", *SHORT, *options)
        assert got.code == 0, got.err
        return got.json

    return probed


def answers(result):
    return {
        answer["probe"] + (f" {answer['subject']}" if answer["subject"] else ""): answer for answer in result["answers"]
    }


def test_every_question_has_an_answer_beside_what_the_server_was_told(on, practice):
    result = on(practice(block_size=32, minimum_tokens=300))
    assert next(iter(result)) == "schema_version"
    found = answers(result)
    assert [name for name in PROBES if not any(one.startswith(name) for one in found)] == []
    assert (found["granularity"]["value"], found["granularity"]["documented"]) == (32, "32 tokens")
    assert (found["minimum"]["value"], found["minimum"]["documented"]) == (320, "320 tokens")
    assert [name for name, answer in found.items() if answer["agrees"] is False] == []
    assert result["rule_set"] == "block-chain (block 32, at least 300 tokens)"
    assert result["calls"] <= result["most_calls"] == 150
    assert sum(answer["calls"] for answer in result["answers"]) == result["calls"]


def test_the_plan_is_said_before_the_first_call(hitrate, practice):
    got = hitrate("probe", "practice", "--base-url", practice(), "--only", "opening", "--max-calls", 20, *SHORT)
    assert got.code == 0
    plan, by_probe = got.err.splitlines()[:2]
    assert plan.startswith("plan: at most 20 calls in all, about ")
    assert "and 1.5 s of waiting; at most about $0.0" in plan
    assert by_probe == "      at most, by probe: hidden 43, opening 18"


def test_the_calls_are_kept_and_the_run_can_be_shown_again(hitrate, practice, tmp_path):
    first = hitrate("probe", "practice", "--base-url", practice(), "--only", "granularity", "--json", *SHORT)
    run = first.json["run_id"]
    assert f"stored as {run}: hitrate show {run}" in first.err
    assert hitrate("show", run, "--json").json == first.json
    with sqlite3.connect(tmp_path / "runs.sqlite3") as store:
        labels = [label for (label,) in store.execute("select label from calls where label != 'warm-up'")]
    assert len(labels) == first.json["calls"]
    assert set(labels) == {"hidden/write", "hidden/read", "granularity/write", "granularity/read"}


def test_the_table_says_what_was_measured_and_what_is_documented(hitrate, practice):
    got = hitrate("probe", "practice", "--base-url", practice(), "--only", "granularity", "--only", "opening", *SHORT)
    rows = [line.split() for line in got.out.splitlines()]
    assert ["granularity", "–", "16", "tokens", "–", "│", "16", "tokens", "agrees", "counts", "16"] in [
        row[:11] for row in rows
    ]
    assert "granularity: Tokens are credited in steps of 16: fits all 8 credited lengths." in got.out
    assert "3 answered, 0 could not be told." in got.out


def test_one_row_a_call_as_csv(hitrate, practice):
    got = hitrate("probe", "practice", "--base-url", practice(), "--only", "write-delay", "--csv", *SHORT)
    rows = list(csv.DictReader(io.StringIO(got.out)))
    assert [(row["probe"], row["role"]) for row in rows] == [
        *[("hidden", "write"), ("hidden", "read")] * 4,
        ("write-delay", ""),
    ]
    assert rows[1]["found"].lower() == "true" and float(rows[1]["age_s"]) >= 0


def test_a_page_and_markdown(hitrate, practice, tmp_path):
    url = practice()
    assert hitrate("probe", "practice", "--base-url", url, "--only", "hidden", "--html", "p.html", *SHORT).code == 0
    assert "What was measured" in (tmp_path / "p.html").read_text(encoding="utf-8")
    got = hitrate("probe", "practice", "--base-url", url, "--only", "hidden", "--md", *SHORT)
    assert "| hidden |" in got.out


def test_a_knob_without_effect_is_told_from_one_that_works(on, practice):
    knob = "affinity body member prompt_cache_key"
    inert = answers(on(practice(replicas=6), "--only", "affinity"))
    assert (inert[knob]["choice"], inert[knob]["documented"], inert[knob]["agrees"]) == ("no effect", "no effect", True)
    working = answers(on(practice(replicas=6, routing="session-affinity"), "--only", "affinity"))
    assert (working[knob]["choice"], working[knob]["documented"], working[knob]["agrees"]) == ("works", "works", True)
    assert working["replicas"]["low"] <= 6 <= working["replicas"]["high"]


def test_a_vendor_that_differs_from_what_it_documents(on, practice, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "any-key-at-all")
    url = practice(imitates="openai-before-gpt-5.6", block_size=64)
    result = on(url, "--only", "granularity", target="openai")
    found = answers(result)["granularity"]
    assert (found["value"], found["documented"], found["agrees"]) == (64, "128 tokens", False)
    assert result["rule_set"].startswith("openai-chat-before-gpt-5.6") and result["rule_date"] == "2026-11"


def test_another_api_key(on, practice, monkeypatch, hitrate):
    monkeypatch.setenv("SECOND_KEY", "second-secret-key")
    result = on(practice(), "--only", "sharing", "--other-key-variable", "SECOND_KEY")
    assert answers(result)["sharing another API key"]["choice"] == "shared"
    assert "second-secret-key" not in json.dumps(result)
    got = hitrate("probe", "practice", "--other-key-variable", "NO_SUCH_KEY")
    assert (got.code, got.err) == (3, "error: --other-key-variable: NO_SUCH_KEY is not set; nothing was sent\n")


def test_a_budget_that_the_plan_would_exceed_sends_nothing(hitrate, practice):
    got = hitrate("probe", "practice", "--base-url", practice(), "--budget", 0.0001, *SHORT)
    assert got.code == 2
    assert "that is over --budget $0.0001; nothing was sent" in got.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--only", "lifetme"),
            "--only lifetme: there is no such probe (did you mean lifetime?); known: hidden, replicas",
        ),
        (("--max-calls", "1"), "Invalid value for '--max-calls'"),
        (("--time", "nan"), "'nan' is not a number to work with"),
    ],
)
def test_what_cannot_be_asked(hitrate, arguments, said):
    got = hitrate("probe", "practice", *arguments)
    assert got.code == 2
    assert said in got.err


def test_a_target_that_is_not_there(hitrate):
    got = hitrate("probe", "practice", "--base-url", "http://127.0.0.1:9/v1")
    assert got.code == 3
    assert "connection refused" in got.err


def test_failed_calls_are_counted_and_are_no_misses(on, practice):
    result = on(practice(faults=("500:every=6",)), "--only", "granularity")
    assert result["failed"] >= 3
    assert answers(result)["granularity"]["value"] == 16


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="sends signals to a process")
def test_an_interrupted_run_keeps_what_it_had(tmp_path):
    arguments = [sys.executable, "-m", "hitrate", "probe", "practice", "--prefill-rate", "100000", "--json"]
    process = subprocess.Popen(
        [*arguments, "--only", "lifetime"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0
    )
    store = tmp_path / "runs.sqlite3"
    for _ in range(600):
        if store.is_file():
            with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as found:
                tables = found.execute("select count(*) from sqlite_master where name = 'calls'").fetchone()[0]
                calls = (
                    found.execute("select count(*) from calls where label like 'lifetime%'").fetchone()
                    if tables
                    else (0,)
                )
            if calls[0] >= 2:
                break
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    result = json.loads(out)
    found = {answer["probe"]: answer for answer in result["answers"]}
    assert (found["hidden"]["choice"], found["lifetime"]["text"]) == ("reported", "The run was interrupted.")
    assert any(warning.startswith("interrupted after ") for warning in result["warnings"])
