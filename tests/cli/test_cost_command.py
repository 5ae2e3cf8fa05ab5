"""`hitrate cost` from log to figure."""

from __future__ import annotations

import json
import os

import pytest

from hitrate.core.model import Call, Usage
from hitrate.logs.store import Store

CASES = os.environ.get("HITRATE_CASES")
TRACES = os.environ.get("HITRATE_TRACES")


def chat(prompt, cached, *, model="m", output=0, **more):
    usage = {"prompt_tokens": prompt, "completion_tokens": output, "prompt_tokens_details": {"cached_tokens": cached}}
    body = {"model": model, "messages": [{"role": "user", "content": "hi"}]}
    return {"at": "2026-11-01T12:00:00Z", "body": body, "response": {"usage": usage}, **more}


def jsonl(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize(
    ("price", "usd", "saved"),
    [("0.30,0.006,1.20", 0.0354, 0.88), ("0.30,0.15,1.20", 0.165, 0.45)],
)
def test_a_million_tokens_of_which_nine_tenths_repeat(hitrate, file, price, usd, saved):
    log = file("log.jsonl", jsonl(chat(1_000_000, 900_000)))
    found = hitrate("cost", log, "--price", price, "--json").json
    assert (found["usd"], found["usd_without_caching"]) == (usd, 0.30)
    assert round(found["usd_saved"] / found["usd_without_caching"], 2) == saved
    assert (found["calls"], found["hit_rate"], found["unpriced_calls"]) == (1, 0.9, 0)


def test_the_same_from_the_price_list(hitrate, file):
    log = file("log.jsonl", jsonl(chat(1_000_000, 900_000, model="accounts/fireworks/models/deepseek-v4p1-flash")))
    found = hitrate("cost", log, "--json").json
    assert (found["usd"], found["usd_without_caching"]) == (0.0354, 0.30)
    assert found["prices"][0]["source"].startswith("genai-prices")


def test_twenty_calls(hitrate, file):
    log = file("log.jsonl", jsonl(chat(3600, 0), *[chat(3600, 3500)] * 19))
    found = hitrate("cost", log, "--json").json
    assert (found["calls"], found["prompt_tokens"], found["cached_tokens"]) == (20, 72_000, 66_500)
    assert round(found["hit_rate"], 2) == 0.92
    assert (found["usd"], found["unpriced_calls"]) == (None, 20)


def test_break_even_of_both_lifetimes(hitrate, file):
    log = file("log.jsonl", jsonl(chat(10, 0, model="claude-opus-4-5")))
    found = hitrate("cost", log, "--json").json["break_even"]
    assert [(one["lifetime"], one["write_x"], one["read_x"], one["calls"]) for one in found] == [
        ("usual", 1.25, 0.1, 2),
        ("1h", 2.0, 0.1, 3),
    ]


def test_keys_and_their_order(hitrate, file):
    found = hitrate("cost", file("log.jsonl", jsonl(chat(10, 0))), "--json").json
    assert next(iter(found)) == "schema_version"
    wanted = "calls prompt_tokens cached_tokens written_tokens output_tokens hit_rate usd usd_without_caching usd_saved"
    assert {*wanted.split(), "unpriced_calls", "prices", "records", "write_premium_usd", "break_even"} <= found.keys()


def test_the_table(hitrate, file):
    log = file("log.jsonl", jsonl(chat(100_000, 90_000, output=1000), chat(100, 0, model="x")) + '{"body": {"mess')
    out = hitrate("cost", log, "--price", "3,0.3,15,3.75,6").out
    lines = out.splitlines()
    assert lines[0] == "cost · log.jsonl · request-pairs"
    assert next(line for line in lines if line.startswith("m ")).split() == (
        ["m", "–", "1", "100,000", "90,000", "–", "1,000", "90.0", "0.072", "0.315", "0.243", "0.00", "0"]
    )
    assert "bill $0.0723 instead of $0.3153 without caching: $0.243 (77.1 %) saved" in lines
    assert "hit rate 89.9 %: 90,000 of 100,100 prompt tokens from cache" in lines
    assert (
        "warning: log.jsonl, line 3, column 11: cut off: the JSON value does not end (15 characters); not used" in lines
    )
    assert "m: a one-hour write costs 2x the input price, a read 0.1x; it pays back from call 3 on" in lines


def test_csv_and_markdown(hitrate, file):
    log = file("log.jsonl", jsonl(chat(1000, 500)))
    rows = hitrate("cost", log, "--price", "1,0.1,5", "--csv").out.splitlines()
    assert rows[0].startswith("model,provider,calls,prompt_tokens,cached_tokens,")
    assert rows[1].startswith("m,,1,1000,500,,0,0.5,0.00055,0.001,0.00045,")
    assert "### cost · log.jsonl · request-pairs" in hitrate("cost", log, "--md").out


def test_storage_is_told_apart(hitrate, file):
    log = file("log.jsonl", jsonl(chat(1000, 500)))
    found = hitrate("cost", log, "--price", "1,0.1,5", "--storage", "100000,24,4.5", "--json").json
    assert (found["usd"], found["storage_usd"]) == (0.00055, 10.8)


def test_prices_asked_of_a_target(hitrate, file, practice):
    url = practice()
    log = file("log.jsonl", jsonl(chat(1000, 500, model="practice")))
    found = hitrate("cost", log, "--prices-from", url, "--json").json
    listed = hitrate("models", url, "--json").json["models"][0]
    (price,) = found["prices"] or [None]
    assert price["input_usd_per_mtok"] == listed["input_usd_per_mtok"]
    assert "/v1/models" in price["source"]


def test_a_stored_run(hitrate):
    usages = [
        Usage(prompt_tokens=1000, cached_tokens=0, output_tokens=10),
        Usage(prompt_tokens=1000, cached_tokens=900),
    ]
    with Store.open() as store:
        run = store.begin_run("test", "vllm", "m", "hitrate test vllm", "2026-11-01T12:00:00Z")
        for usage in usages:
            store.add_call(run, Call(target="vllm", dialect="openai-chat", body=b"{}", model="m", usage=usage))
    found = hitrate("cost", run[:4], "--price", "1,0.1,5", "--json").json
    assert (found["log"], found["format"], found["calls"], found["without_output"]) == (run, "run", 2, 1)
    assert (found["usd"], found["usd_without_caching"], found["hit_rate"]) == (0.00124, 0.00205, 0.45)
    assert "an engine of your own has no list price; give one with --price" in hitrate("cost", run).out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["none"], 2, "no file 'none', and no run 'none'"),
        (["none", "--format", "pairs"], 2, "no log format called 'pairs'; known:"),
        (["empty"], 2, "empty: the file is empty, expected a log of requests"),
        (["page"], 2, "page, line 1: this is HTML and not a request log"),
        (["text"], 2, "text, line 1, column 1: expected JSON: expecting value; the format of this log is not"),
        (["bad"], 2, "bad: none of its 2 records can be used"),
        (["users"], 2, "users: no call is recorded in it (read as claude-code)"),
        (["good", "--price", "1,2"], 2, "expected IN,CACHED,OUT[,WRITE[,WRITE1H]]"),
        (["good", "--price", "1,2,x"], 2, "expected IN,CACHED,OUT[,WRITE[,WRITE1H]]"),
        (["good", "--storage", "1.5,2,3"], 2, "expected TOKENS,HOURS,USD"),
        (["good", "--html", "x.html"], 2, "a bill has no HTML page"),
    ],
)
def test_errors(hitrate, file, arguments, code, said):
    file("empty", "")
    file("page", "<html>502</html>\n")
    file("text", "a,b\n1,2\n")
    file("bad", '{"body": null}\n{"body": {"messages": 5}}\n')
    file("users", jsonl({"sessionId": "s", "uuid": "u", "type": "user", "message": {}}))
    file("good", jsonl(chat(1, 0)))
    outcome = hitrate("cost", *arguments)
    assert (outcome.code, outcome.out) == (code, "")
    assert said in outcome.err


def test_damaged_records_are_named_when_none_is_left(hitrate, file):
    file("bad", '{"body": null}\n{"body": {"messages": 5}}\n')
    assert hitrate("cost", "bad").err.splitlines()[:2] == [
        "bad, line 1: /body is null, expected an object",
        "bad, line 2: /body/messages is a number, expected an array",
    ]


def test_the_user_s_own_price_file(hitrate, file, tmp_path):
    (tmp_path / "config").mkdir(exist_ok=True)
    (tmp_path / "config" / "prices.toml").write_text('[[price]]\nmodel = "m"\ninput = 2\ncached = 1\noutput = 1\n')
    found = hitrate("cost", file("log.jsonl", jsonl(chat(1_000_000, 500_000))), "--json").json
    assert (found["usd"], found["usd_without_caching"]) == (1.5, 2.0)


@pytest.mark.skipif(not CASES, reason="HITRATE_CASES is not set")
@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("28-usage-dialect", {"prompt_tokens": 5643, "cached_tokens": 3584, "usd": None, "unpriced_calls": 3}),
        ("29-stream-totals", {"prompt_tokens": 5408, "cached_tokens": 5120, "output_tokens": 52, "usd": 0.00318}),
        (
            "30-log-duplicates",
            {"calls": 3, "cached_tokens": 69_092, "written_tokens": 10_655, "output_tokens": 1009},
        ),
        ("31-wrong-price", {"usd": 0.050631, "usd_without_caching": 0.248775}),
    ],
)
def test_cases(hitrate, case, expected):
    found = hitrate("cost", f"{CASES}/dev-{case}.json", "--json").json
    assert {name: found[name] for name in expected} == expected


@pytest.mark.skipif(not TRACES, reason="HITRATE_TRACES is not set")
def test_a_real_session_of_a_coding_agent(hitrate):
    found = hitrate("cost", f"{TRACES}/agent_usage/pi_before-compaction.jsonl.gz", "--json").json
    assert (round(found["usd"], 2), round(found["usd_without_caching"], 2)) == (42.60, 286.61)
    assert round(found["usd_logged"], 6) == round(found["usd"], 6)
    assert round(found["hit_rate"], 3) == 0.97
    assert (found["calls"], found["unpriced_calls"]) == (484, 13)
