"""`hitrate doctor`: per check what was found and what to do, and the exit code."""

from __future__ import annotations

import socket

import pytest
from plain_server import error, stream

NAMES = ["reachable", "key", "model", "reply", "cached tokens", "affinity and cold knob", "bill"]


def checks(got):
    found = got.json["checks"]
    assert [check["name"] for check in found] == NAMES
    return {check["name"]: (check["outcome"], check["found"], check["advice"]) for check in found}


def outcomes(got):
    return [check["outcome"] for check in got.json["checks"]]


def test_a_healthy_target(hitrate, practice):
    got = hitrate("doctor", "practice", "--base-url", practice(), "--json")
    found = checks(got)
    assert (got.code, got.err) == (0, "doctor: at most 3 calls of a few tokens to practice\n")
    assert (got.json["model"], got.json["calls"], got.json["reachable"]) == ("practice", 1, True)
    assert set(outcomes(got)) == {"ok"}
    assert found["cached tokens"][1] == "reported: usage.prompt_tokens_details.cached_tokens"
    assert found["affinity and cold knob"][1] == "accepted: body member prompt_cache_key, body member cache_salt"
    assert found["bill"][1] == (
        "input $0.3, cached $0.006, cache write $0, output $1.2 per million tokens (pricing.prompt)"
    )


def test_the_practice_server_is_started_where_no_address_is_given(hitrate):
    got = hitrate("doctor", "practice", "--json")
    assert (got.code, set(outcomes(got))) == (0, {"ok"})


@pytest.mark.parametrize("target", ["vllm", "practice", None])
def test_nothing_listens(hitrate, target):
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{one.getsockname()[1]}/v1"
    got = hitrate("doctor", *((url,) if target is None else (target, "--base-url", url)), "--json")
    assert (got.code, got.json["reachable"], got.json["calls"]) == (3, False, 0)
    assert outcomes(got) == ["failed", *["skipped"] * 6]
    says = checks(got)["reachable"][1]
    start = {"vllm": "start it with: vllm serve MODEL --enable-prompt-tokens-details", "practice": "hitrate serve"}
    assert "connection refused" in says and says.endswith(start.get(target, "is it running, and the address right?"))


def test_a_missing_key_is_named_and_nothing_is_sent(hitrate, plain, tmp_path):
    server = plain(stream())
    got = hitrate("doctor", "openai", "--base-url", server.url, "--json")
    assert (got.code, got.err, server.paths) == (1, "", [])
    assert outcomes(got) == ["ok", "failed", *["skipped"] * 5]
    assert checks(got)["key"][1:] == (
        "openai needs a key and OPENAI_API_KEY is not set; nothing was sent",
        f"export OPENAI_API_KEY=..., or name another variable: key_variable in {tmp_path}/config/targets.toml",
    )


@pytest.mark.parametrize(
    ("models", "wanted", "check", "code"),
    [
        (["a"], None, ("ok", "a, the only one listed", None), 0),
        (["a", "b"], "b", ("ok", "b is listed, with 1 others", None), 0),
        (["glm-5.2", "kimi"], "glm-5.3", ("warning", "glm-5.3 is not among the 2 listed", "nearest ids: glm-5.2"), 0),
        (None, "x", ("ok", "x; no list is shown", None), 0),
        (["a", "b"], None, ("warning", "2 are listed: a, b", "choose one with --model"), 0),
        (None, None, ("failed", "none is listed", "name one with --model, and see that the key is right"), 1),
    ],
)
def test_models(hitrate, plain, models, wanted, check, code):
    server = plain(stream(), models=models)
    got = hitrate("doctor", server.url, *(("--model", wanted) if wanted else ()), "--json")
    assert (got.code, checks(got)["model"]) == (code, check)
    assert len(server.calls) == (1 if got.json["model"] else 0)


@pytest.mark.parametrize(
    ("usage", "check"),
    [
        (
            {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 0}},
            ("ok", "reported: usage.prompt_tokens_details.cached_tokens", None),
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": None},
            ("warning", "not reported: null in the usage", "FLAG"),
        ),
        ({"prompt_tokens": 9, "completion_tokens": 1}, ("warning", "not reported: absent in the usage", "FLAG")),
        ({}, ("warning", "the reply has no usage at all: no hit rate can be given", "FLAG")),
        (
            {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 90}},
            ("warning", "90 cached of 9 prompt tokens contradict each other", None),
        ),
    ],
)
def test_how_cached_tokens_are_reported_and_what_turns_it_on(hitrate, plain, usage, check):
    got = hitrate("doctor", "vllm", "--base-url", plain(stream(usage=usage)).url, "--json")
    flag = (
        "known of this target: only when started with --enable-prompt-tokens-details; without it "
        "prompt_tokens_details is null"
    )
    assert got.code == 0
    assert checks(got)["cached tokens"] == tuple(flag if part == "FLAG" else part for part in check)
    assert checks(got)["bill"] == ("ok", "nothing by the token: an engine of your own", None)


def test_a_knob_that_is_refused_is_told_from_a_target_that_refuses(hitrate, plain):
    def answer(body):
        return error(400, "unknown member cache_salt") if "cache_salt" in body else stream()

    server = plain(answer)
    got = hitrate("doctor", "vllm", "--base-url", server.url, "--json")
    assert (got.code, got.json["calls"], len(server.calls)) == (1, 2, 2)
    assert outcomes(got) == ["ok", "ok", "ok", "ok", "ok", "failed", "ok"]
    assert checks(got)["affinity and cold knob"][1:] == (
        "body member cache_salt: vllm refused the request (HTTP 400: unknown member cache_salt)",
        "leave them out with --affinity none --cold nonce",
    )


def test_at_most_three_calls(hitrate, plain):
    server = plain(error(400, "max_tokens is not supported"), error(400, "no cache_salt"), stream())
    got = hitrate("doctor", "vllm", "--base-url", server.url, "--json")
    assert (got.code, len(server.calls)) == (1, 3)
    assert ["max_tokens" in call for call in server.calls] == [True, False, False]
    assert ["cache_salt" in call for call in server.calls] == [True, True, False]


@pytest.mark.parametrize(
    ("answer", "says", "calls"),
    [
        (error(401, "no such key"), "refused the key (HTTP 401: no such key); it wants a key", 1),
        (error(404, "model not found"), "refused the model 'm', which it lists (HTTP 404: model not found)", 1),
        (error(500, "out of order"), "out of order", 1),
        (error(429, "slow down", {"Retry-After": "0"}), "still answers 429 (waited 0 s, once; it says: slow down)", 2),
    ],
)
def test_a_call_that_is_not_answered(hitrate, plain, answer, says, calls):
    server = plain(answer)
    got = hitrate("doctor", server.url, "--json")
    assert (got.code, len(server.calls)) == (1, calls)
    assert outcomes(got) == ["ok", "ok", "ok", "failed", *["skipped"] * 3]
    assert says in checks(got)["reply"][1]


def test_a_price_that_is_not_known(hitrate, plain):
    got = hitrate("doctor", plain(stream()).url, "--json")
    assert checks(got)["bill"][0] == "warning"
    assert checks(got)["bill"][2] == "give it with --price or in prices.toml; runs go on without"


def test_the_table_ends_with_what_to_do(hitrate, plain, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    got = hitrate("doctor", "vllm", "--base-url", plain(stream(cached=None)).url)
    lines = got.out.splitlines()
    assert lines[0].startswith("doctor · vllm · m · http://127.0.0.1:")
    assert lines[-1] == "0 failed, 1 warning; 1 call made."
    assert lines[-2] == (
        "cached tokens: known of this target: only when started with --enable-prompt-tokens-details; without it "
        "prompt_tokens_details is null"
    )
