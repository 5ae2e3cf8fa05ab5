"""`hitrate bench` from end to end on practice servers."""

from __future__ import annotations

import json

import pytest
from plain_server import error, stream


@pytest.fixture
def on(hitrate):
    def measured(url, *options):
        got = hitrate("bench", "practice", "--base-url", url, "--json", *options)
        assert got.code == 0, got.err
        return got.json

    return measured


def row(result, order="stable-first", shape="opening"):
    return next(one for one in result["rows"] if (one["order"], one["shape"]) == (order, shape))


def test_the_keys_that_others_build_on(on, practice):
    result = on(practice(), "--calls", 4)
    assert next(iter(result)) == "schema_version"
    assert result.keys() >= {"target", "model", "rows", "measurement", "warnings"}
    assert "loop_lag_p99_ms" in result["measurement"]
    for one in result["rows"]:
        assert one.keys() >= {
            "order",
            "shape",
            "first_ms",
            "rest_p50_ms",
            "rest_p95_ms",
            "speedup_x",
            "prompt_tokens",
            "cached_tokens",
            "hit_rate",
            "calls",
        }
        for call in one["calls"]:
            assert call.keys() >= {"ttft_ms", "prompt_tokens", "cached_tokens", "expected_cached_tokens", "state"}


def test_the_opening_in_front_is_served_from_cache_and_behind_the_question_it_is_not(on, practice):
    """3,000 tokens at 30,000 a second are 100 ms; the practice server keeps that time itself."""
    result = on(practice(prefill_rate=30_000.0), "--calls", 6, "--cold-calls", 2)
    stable, variable = row(result), row(result, "variable-first")
    assert all(call["cached_tokens"] == call["expected_cached_tokens"] for call in stable["calls"] + variable["calls"])
    assert [call["role"] for call in stable["calls"]] == [
        "first",
        "warm",
        "warm",
        "cold",
        "warm",
        "cold",
        "warm",
        "warm",
    ]
    assert [call["state"] for call in stable["calls"] if call["role"] in ("first", "cold")] == ["cold"] * 3
    assert stable["hit_rate"] > 0.98
    assert variable["hit_rate"] < 0.02
    assert stable["speedup_x"] > 2
    assert 0.5 < variable["speedup_x"] < 2
    assert stable["speedup_x"] == round(stable["first_ms"] / stable["rest_p50_ms"], 3)


def test_an_engine_that_keeps_nothing_gains_nothing(on, practice):
    result = on(practice(rule="none", prefill_rate=30_000.0), "--calls", 4, "--order", "stable-first")
    assert row(result)["hit_rate"] == 0.0
    assert 0.4 < row(result)["speedup_x"] < 2.5


def test_both_shapes(on, practice):
    result = on(practice(), "--calls", 4, "--shape", "both")
    assert [(one["order"], one["shape"]) for one in result["rows"]] == [
        ("stable-first", "opening"),
        ("stable-first", "conversation"),
        ("variable-first", "opening"),
        ("variable-first", "conversation"),
    ]
    grown = [call["prompt_tokens"] for call in row(result, shape="conversation")["calls"]]
    assert grown == sorted(set(grown))
    assert row(result, shape="conversation")["hit_rate"] > 0.95


def test_one_more_call_for_its_usage(on, practice):
    usage = on(practice(), "--calls", 3, "--order", "stable-first", "--usage")["usage_call"]
    assert usage["cached_tokens"] == usage["expected_cached_tokens"]
    assert usage["prompt_tokens"] > 2900


def test_a_second_run_without_isolation_is_told_to_be_warm(on, practice):
    url = practice()
    options = ("--calls", 3, "--order", "stable-first", "--cold", "none")
    assert on(url, *options)["warnings"] == [] or "already warm" not in str(on)
    (said, *_) = on(url, *options)["warnings"]
    assert said.startswith("stable-first: the server was already warm, call 1 was served 2,960 of 2,97")


def test_an_opening_and_questions_of_the_users_own(hitrate, plain, file):
    server = plain(stream())
    opening, questions = file("opening.txt", "Be brief.\r\n" * 3), file("questions.txt", "Why?\n\nHow?\n")
    options = ("--opening", opening, "--questions", questions, "--calls", 3, "--cold-calls", 0, "--no-store")
    assert hitrate("bench", server.url, *options, "--order", "stable-first", "--seed", 1).code == 0
    assert [body["messages"][1]["content"] for body in server.calls[1:]] == ["Why?", "How?", "Why?"]
    head, _, rest = server.calls[1]["messages"][0]["content"].partition(".\n")
    assert head.startswith("Run ")
    assert rest == "Be brief.\r\n" * 3


def test_a_first_call_that_failed_is_not_the_cold_time(hitrate, plain):
    server = plain(stream(), error(500, "busy"), stream(cached=0), stream(cached=2900))
    got = hitrate(
        "bench", server.url, "--calls", 4, "--cold-calls", 0, "--order", "stable-first", "--no-store", "--json"
    )
    (one,) = got.json["rows"]
    assert [(call["role"], call["state"]) for call in one["calls"]] == [
        ("warm", "failed"),
        ("first", "cold"),
        ("warm", "hit"),
        ("warm", "hit"),
    ]
    assert one["first_ms"] == one["calls"][1]["ttft_ms"]
    assert got.json["warnings"][:2] == [
        "stable-first: call 2 is the first that was answered, so first_ms is its time",
        "stable-first: 1 of 4 calls failed and are left out of the times",
    ]


def test_a_rule_that_stores_an_opening_once_it_was_seen_twice(hitrate, plain):
    server = plain(stream(), stream(cached=0), stream(cached=0), stream(cached=2900))
    got = hitrate(
        "bench", server.url, "--calls", 6, "--cold-calls", 0, "--order", "stable-first", "--no-store", "--json"
    )
    (one,) = got.json["rows"]
    assert [call["role"] for call in one["calls"]] == ["first", "warm-up", "warm", "warm", "warm", "warm"]
    assert one["hit_rate"] == pytest.approx(2900 / 3000)
    assert any("call 2 was not served from cache but later calls were" in text for text in got.json["warnings"])


def test_streams_that_break_are_left_out_of_the_times(on, practice):
    result = on(practice(faults=("cut:every=3",)), "--calls", 6, "--cold-calls", 0, "--order", "stable-first")
    states = [call["state"] for call in row(result)["calls"]]
    assert states == ["cold", "failed", "hit", "hit", "failed", "hit"]
    warm = sorted(call["ttft_ms"] for call in row(result)["calls"] if call["state"] == "hit")
    assert row(result)["rest_p50_ms"] == warm[1]


def test_tables_for_people(hitrate, practice):
    got = hitrate("bench", "practice", "--base-url", practice(), "--calls", 3, "--no-store")
    assert got.err == ""
    header = next(line for line in got.out.splitlines() if "first_ms" in line)
    assert header.split()[:6] == ["target", "order", "first_ms", "rest_p50_ms", "speedup_x", "p95_ms"]
    assert json.dumps(got.out).count("stable-first") >= 1
