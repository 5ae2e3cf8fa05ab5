"""Every server that `serve --as` imitates, asked by every command that asks one: what works, and what is said when not.

The keys must be in nothing that is printed.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from plain_server import Reply

from hitrate.serve.practice.vendors import vendor, vendor_names
from hitrate.targets.presets import load

KEY, WRONG = "right-key-12345", "wrong-key-67890"

SERVERS = [
    (row["server"], row["target"], row["second_turn"], row["second_bench_call"])
    for row in json.loads((Path(__file__).parent.parent / "data" / "every_preset.json").read_text())
]
"""Server, target, what the cache does with the second turn of a test and with the second call of a bench. The page
docs/reference/targets.md shows these rows."""
PAIRS = [row[:2] for row in SERVERS]
SHORT = ("--system", "short.txt", "--turns", 2, "--no-store")


def errors_in(stderr: str) -> str:
    """Without the line that says what a run may cost, for models whose price is known."""
    return "".join(line for line in stderr.splitlines(keepends=True) if not line.startswith("estimated cost: "))


@pytest.fixture
def short(file):
    file("short.txt", "Answer in one word. " * 50)


@pytest.fixture
def at(practice, monkeypatch):
    """Starts a server and gives the arguments that name target and address; the key is set."""

    def start(server: str, target: str, **options):
        variable = load(target).key_variable
        if variable is not None:
            monkeypatch.setenv(variable, KEY)
        return (target, "--base-url", practice(imitates=server, **options))

    return start


def test_every_server_is_asked():
    assert sorted({server for server, _ in PAIRS}) == vendor_names()


@pytest.mark.parametrize(("server", "target", "turn", "bench"), SERVERS)
def test_every_command_works_and_says_what_is_wrong(hitrate, at, short, monkeypatch, server, target, turn, bench):
    """One server for all of it, since starting one takes longer than asking it."""
    variable = load(target).key_variable
    where = at(server, target, api_key=KEY if variable else None)
    model = vendor(server).models[0].name

    found = hitrate("doctor", *where, "--json")
    assert (found.code, found.json["model"], found.json["calls"]) == (0, model, 1)
    assert {check["outcome"] for check in found.json["checks"]} <= {"ok", "warning"}
    outcomes = {check["name"]: check["outcome"] for check in found.json["checks"]}
    assert outcomes["cached tokens"] == ("warning" if turn == "not reported" else "ok")

    listed = hitrate("models", *where, "--json")
    assert (listed.code, [entry["id"] for entry in listed.json["models"]]) == (0, [model])

    tested = hitrate("test", *where, "--turns", 2, "--no-store", "--json")
    assert tested.code == 0, tested.err
    assert [row["state"] for row in tested.json["turns"]] == [turn if turn == "not reported" else "cold", turn]
    assert all(0 < row["hit_rate"] < 1 for row in tested.json["turns"] if row["state"] == "hit")

    benched = hitrate("bench", *where, "--calls", 3, "--order", "stable-first", "--no-store", "--json")
    assert benched.code == 0, benched.err
    (row,) = benched.json["rows"]
    cold = "not reported" if bench == "not reported" else "cold"
    assert [(call["role"], call["state"]) for call in row["calls"]] == [
        ("first", cold),
        ("warm", bench),
        ("cold", cold),
        ("warm", bench),
    ]
    assert KEY not in "".join((found.out, listed.out, tested.out, benched.out, found.err, tested.err))

    wrong = hitrate("test", *where, *SHORT, "--model", f"{model}x")
    assert (wrong.code, wrong.out) == (3, "")
    assert errors_in(wrong.err).startswith(f"error: {target} has no model '{model}x' (HTTP 404: ")
    assert errors_in(wrong.err).endswith(f"nearest ids: {model}\n")

    if variable is None:
        return
    monkeypatch.setenv(variable, WRONG)
    refused = hitrate("test", *where, *SHORT, "--model", model)
    assert (refused.code, refused.out) == (3, "")
    assert errors_in(refused.err).startswith(f"error: {target} refused the key (HTTP 401: ")
    assert errors_in(refused.err).endswith(f"; check the key in {variable}\n")
    sick = hitrate("doctor", *where, "--model", model, "--json")
    assert (sick.code, [one["name"] for one in sick.json["checks"] if one["outcome"] == "failed"]) == (1, ["reply"])
    assert WRONG not in refused.err + sick.out + sick.err


@pytest.mark.parametrize(
    ("server", "target", "rule"),
    [
        ("anthropic", "anthropic", "anthropic-2026-11 (at least 1,024 tokens, look-back 20)"),
        ("bedrock", "bedrock", "bedrock-2026-11 (at least 1,024 tokens, look-back 20)"),
        ("moonshot", "moonshot", "moonshot-2026-11 (block 256, the same prompt whole)"),
        ("openai", "openai", "openai-2026-09 (at least 1,024 tokens, latest 80 breakpoints, 20 earlier messages)"),
        (
            "openai-before-gpt-5.6",
            "openai",
            "openai-chat-before-gpt-5.6 (as of 2026-11, block 128, at least 1,024 tokens)",
        ),
    ],
)
def test_what_is_served_is_what_the_rule_predicts(hitrate, at, server, target, rule):
    got = hitrate("test", *at(server, target), "--turns", 4, "--no-store", "--json")
    served = [(row["cached_tokens"], row["expected_cached_tokens"]) for row in got.json["turns"]]
    assert served[0] == (0, 0) and all(cached == expected > 2800 for cached, expected in served[1:])
    assert got.json["expectation"]["rule_set"] == rule
    assert got.json["verdict"]["healthy"] is True


def test_calls_below_the_minimum_are_expected_to_find_nothing(hitrate, at, short):
    got = hitrate("test", *at("anthropic", "anthropic"), *SHORT, "--json")
    assert [(row["cached_tokens"], row["expected_cached_tokens"], row["state"]) for row in got.json["turns"]] == [
        (0, 0, "too short")
    ] * 2


def test_a_run_on_one_wire_is_sent_again_on_another(hitrate, at):
    first = hitrate("test", *at("anthropic", "anthropic"), "--turns", 3, "--json")
    again = hitrate("test", *at("bedrock", "bedrock"), "--replay", first.json["run_id"], "--no-store", "--json")
    assert [row["cached_tokens"] for row in again.json["turns"]] == [
        row["cached_tokens"] for row in first.json["turns"]
    ]


def test_places_in_a_practice_server_of_such_a_rule(hitrate):
    got = hitrate("test", "practice", "--rule", "openai-2026-09", "--turns", 3, "--no-store", "--json")
    served = [(row["cached_tokens"], row["expected_cached_tokens"]) for row in got.json["turns"]]
    assert served[0] == (0, 0) and all(cached == expected > 2800 for cached, expected in served[1:])


def test_what_named_objects_serve_is_not_predicted(hitrate, at):
    where = at("gemini", "gemini")
    got = hitrate("test", *where, "--rule-set", "gemini-explicit-2026-11", "--turns", 2, "--no-store", "--json")
    assert got.json["expectation"]["rule_set"] == "longest common prefix"
    assert got.json["expectation"]["note"].startswith("what gemini-explicit-2026-11 serves is in no request")


@pytest.mark.parametrize(("server", "target"), PAIRS)
def test_a_429_is_waited_out_and_missing_usage_is_unknown(hitrate, at, short, server, target):
    """Call 1 is the warm-up; calls 2 and 4 are refused, and 6 where a parameter was refused first."""
    where = at(server, target, faults=("429:every=2,retry_after=0", "no-usage"))
    got = hitrate("test", *where, *SHORT, "--json")
    waits = got.err.count("HTTP 429: waiting 0.0 s as asked\n")
    assert (got.code, got.json["measurement"]["retries"]) == (0, 2)
    assert waits in (2, 3)
    if server == "fireworks":  # says the counts in its headers too
        assert [row["state"] for row in got.json["turns"]] == ["cold", "hit"]
        return
    assert [(row["prompt_tokens"], row["hit_rate"], row["state"]) for row in got.json["turns"]] == [
        (None, None, "not reported")
    ] * 2


def test_a_missing_key_is_named(hitrate, practice):
    got = hitrate("test", "anthropic", "--base-url", practice(imitates="anthropic"), *SHORT[2:])
    assert got.err.startswith("error: anthropic needs a key and ANTHROPIC_API_KEY is not set; nothing was sent\n")


def test_bedrock_without_any_key_says_both_ways(hitrate, practice, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    got = hitrate("test", "bedrock", "--base-url", practice(imitates="bedrock"), *SHORT[2:])
    assert (got.code, got.out) == (3, "")
    assert got.err.startswith("error: bedrock needs a key: AWS_BEARER_TOKEN_BEDROCK is not set, and requests cannot be")
    assert got.err.endswith("; nothing was sent\n")


def messages_stream(usage):
    """A whole reply of the Messages wire."""
    events = [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Yes."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
    return Reply(200, "".join(lines).encode(), {"Content-Type": "text/event-stream"})


@pytest.mark.parametrize(
    ("usage", "hit_rate"),
    [
        ({"input_tokens": 60, "cache_read_input_tokens": 2940}, 0.98),
        ({"input_tokens": 2940, "cache_read_input_tokens": 60}, 0.02),
        ({"input_tokens": 20, "cache_read_input_tokens": 2940, "cache_creation_input_tokens": 40}, 0.98),
        ({"input_tokens": 3000, "cache_read_input_tokens": 0}, 0.0),
        ({"input_tokens": 3000}, None),
    ],
)
def test_cached_tokens_of_the_messages_wire_are_added_to_the_prompt(
    hitrate, plain, short, monkeypatch, usage, hit_rate
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    server = plain(messages_stream(usage))
    got = hitrate("test", "anthropic", "--base-url", server.url, "--model", "claude-sonnet-5", *SHORT, "--json")
    assert got.code == 0, got.err
    assert [row["prompt_tokens"] for row in got.json["turns"]] == [3000, 3000]
    assert [row["hit_rate"] for row in got.json["turns"]] == [hit_rate, hit_rate]
    assert got.json["aggregate"]["hit_rate"] == hit_rate
