"""`hitrate compare`: two targets, two stored runs, one of each."""

from __future__ import annotations

import pytest
from plain_server import error, stream


@pytest.fixture
def short(file):
    return file("short.txt", "Answer in one word. " * 50)


@pytest.fixture
def stored(hitrate, short):
    """The id of a stored test run on a practice server."""

    def run(url, *options):
        return hitrate("test", "practice", "--base-url", url, "--system", short, "--json", *options).json["run_id"]

    return run


def test_two_targets_with_blocks_of_16_and_128_differ_by_granularity(hitrate, practice, short):
    a, b = practice(block_size=16), practice(block_size=128)
    got = hitrate("compare", a, b, "--model", "practice", "--system", short, "--turns", 6, "--json")
    assert got.code == 0
    assert got.json["reason"] == "granularity"
    assert got.json["missed_tokens"] == 0
    assert [call["prompt_tokens_a"] for call in got.json["calls"]] == [
        call["prompt_tokens_b"] for call in got.json["calls"]
    ]
    assert {call["reason"] for call in got.json["calls"]} <= {"equal", "granularity", "too short"}
    assert got.json["b"]["granularity"] == 128


def test_a_target_that_misses_is_not_excused_by_granularity(hitrate, practice, short):
    a, b = practice(), practice(replicas=6)
    got = hitrate("compare", a, b, "--model", "practice", "--system", short, "--turns", 8, "--json")
    assert got.json["reason"] == "missed reuse"
    assert got.json["missed_tokens"] > 0


def test_two_stored_runs(hitrate, practice, stored):
    a, b = stored(practice()), stored(practice(rule="none"))
    got = hitrate("compare", a, b, "--json")
    assert (got.json["a"]["run_id"], got.json["b"]["run_id"]) == (a, b)
    assert [call["cached_tokens_b"] for call in got.json["calls"]] == [0] * 5
    assert got.json["hit_rate_difference"] == -got.json["a"]["hit_rate"]


@pytest.mark.parametrize("run_first", [True, False])
def test_a_run_and_a_target_that_is_sent_the_runs_conversation(hitrate, plain, practice, stored, run_first):
    run = stored(practice(), "--turns", 3)
    server = plain(stream(cached=10))
    sides = (run, server.url) if run_first else (server.url, run)
    got = hitrate("compare", *sides, "--json")
    assert got.code == 0, got.err
    assert len(got.json["calls"]) == 3
    assert got.json["a" if run_first else "b"]["run_id"] == run
    first, second, third = (body["messages"] for body in server.calls[1:])
    assert second[: len(first)] == first
    assert third[: len(second)] == second


def test_a_bench_cannot_be_compared_with_a_target(hitrate, plain, practice):
    bench = hitrate("bench", "practice", "--base-url", practice(), "--calls", 2, "--json").json["run_id"]
    server = plain(stream())
    assert hitrate("compare", bench, server.url) == (
        2,
        "",
        f"error: run {bench} is a bench; a target can be compared with a test run alone\n",
    )
    assert server.calls == []


def test_a_side_that_answers_nothing_ends_the_comparison(hitrate, plain, practice):
    server = plain(stream(), error(500, "no luck"))
    got = hitrate("compare", server.url, practice(), "--model", "m", "--no-store")
    assert (got.code, got.out) == (3, "")
    assert got.err == f"error: {server.url}: no call was answered whole: HTTP 500: no luck\n"
