"""What is said when something is wrong: all of standard error, and the exit code."""

from __future__ import annotations

import json
import socket
import sqlite3

import pytest
from plain_server import Reply, error, stream

SHORT = ("--system", "short.txt", "--turns", 2, "--no-store")


@pytest.fixture
def refusing() -> str:
    """An address of this machine that nothing listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{one.getsockname()[1]}"


@pytest.fixture
def short(file):
    file("short.txt", "Answer in one word. " * 50)


# connection refused


@pytest.mark.parametrize(
    ("target", "start"),
    [
        ("llamacpp", "hitrate engine llamacpp"),
        ("vllm", "vllm serve MODEL --enable-prompt-tokens-details"),
        ("practice", "hitrate serve"),
    ],
)
@pytest.mark.parametrize("command", [("test",), ("bench",), ("models",)])
def test_a_refused_connection_names_target_address_and_start_command(hitrate, refusing, target, start, command):
    path = "/state" if target == "practice" else ""
    assert hitrate(*command, target, "--base-url", f"http://{refusing}/v1") == (
        3,
        "",
        f"error: {target}: http://{refusing}{path}: connection refused; start it with: {start}\n",
    )


def test_a_refused_connection_to_an_address(hitrate, refusing):
    assert hitrate("test", f"http://{refusing}/v1", "--model", "m") == (
        3,
        "",
        f"error: http://{refusing}: connection refused; is it running, and the address right?\n",
    )


# key not set


@pytest.mark.parametrize("command", [("test",), ("bench",), ("models",)])
def test_a_missing_key_is_named_and_nothing_is_sent(hitrate, plain, tmp_path, command):
    server = plain(stream())
    assert hitrate(*command, "openai", "--base-url", server.url) == (
        3,
        "",
        "error: openai needs a key and OPENAI_API_KEY is not set; nothing was sent\n"
        f"hint: export OPENAI_API_KEY=..., or name another variable: key_variable in {tmp_path}/config/targets.toml\n",
    )
    assert server.paths == []


def test_a_refused_key_is_said_without_the_key(hitrate, plain, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-12345")
    server = plain(error(401, "Incorrect API key provided: sk-secret-12345", code="invalid_api_key"))
    assert hitrate("test", "openai", "--base-url", server.url, "--no-store") == (
        3,
        "",
        "error: openai refused the key (HTTP 401: Incorrect API key provided: *** (invalid_api_key)); "
        "check the key in OPENAI_API_KEY\n",
    )
    assert server.headers[0]["authorization"] == "Bearer sk-secret-12345"
    assert len(server.calls) == 1


# 404 model


def test_a_wrong_model_is_answered_with_the_nearest_ids(hitrate, plain):
    server = plain(error(404, "model not found"), models=["glm-5.2", "deepseek-v4-flash", "deepseek-v4.1-flash"])
    assert hitrate("test", server.url, "--model", "deepseek-v4-flsh", "--no-store") == (
        3,
        "",
        f"error: {server.address} has no model 'deepseek-v4-flsh' (HTTP 404: model not found); "
        "nearest ids: deepseek-v4-flash, deepseek-v4.1-flash\n",
    )


def test_a_wrong_model_where_none_is_near_names_the_command_that_lists_them(hitrate, plain):
    server = plain(error(404, "The model 'zzz' does not exist"), models=None)
    assert hitrate("test", server.url, "--model", "zzz", "--no-store").err == (
        f"error: {server.address} has no model 'zzz' (HTTP 404: The model 'zzz' does not exist); "
        f"list its ids with: hitrate models {server.url}\n"
    )


def test_a_wrong_model_on_models(hitrate, practice):
    assert hitrate("models", "practice", "--base-url", practice(), "--model", "practise") == (
        3,
        "",
        "error: practice lists no model 'practise'; nearest ids: practice\n",
    )


def test_several_models_have_to_be_chosen_from(hitrate, plain):
    server = plain(stream(), models=list("abcdefg"))
    assert hitrate("test", server.url) == (
        2,
        "",
        f"error: {server.address} has 7 models; choose one with --model: a, b, c, d, e and 2 more\n",
    )
    assert server.calls == []


def test_an_address_without_the_interface(hitrate, plain):
    server = plain(error(404, "Not Found"), models=None)
    assert hitrate("test", server.url, "--model", "m", "--no-store").err == (
        f"error: {server.address} has no such address: POST {server.url}/chat/completions (HTTP 404: Not Found); is "
        "the base URL right?\n"
    )


@pytest.mark.parametrize("models", [None, ["m"]])
def test_an_address_that_answers_not_found_is_no_unknown_model(hitrate, plain, models):
    server = plain(Reply(404, b'{"detail":"Not Found"}', {"Content-Type": "application/json"}), models=models)
    assert hitrate("test", server.url, "--model", "m", "--no-store") == (
        3,
        "",
        f"error: {server.address} has no such address: POST {server.url}/chat/completions (HTTP 404: Not Found); is "
        "the base URL right?\n",
    )


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        (Reply(500, b"oops oops oops"), "HTTP 500: oops oops oops"),
        (Reply(502, b""), "HTTP 502 Bad Gateway"),
        (
            Reply(200, b"<!doctype html><title>Welcome</title>", {"Content-Type": "text/html"}),
            "the reply is a page (text/html), not JSON; is the base URL right?",
        ),
    ],
)
def test_a_reply_that_is_none_is_told_in_its_row(hitrate, plain, short, answer, note):
    got = hitrate("test", plain(stream(), answer).url, *SHORT, "--json")
    assert [row["note"] for row in got.json["turns"]] == [note] * 2


# 429

TOO_MANY = error(
    429, "Rate limit reached", {"Retry-After": "0", "x-ratelimit-limit-requests": "20"}, code="rate_limit_exceeded"
)


def test_a_429_is_waited_out_counted_and_not_lost(hitrate, plain, short):
    server = plain(stream(), TOO_MANY, TOO_MANY, stream(), stream(cached=2900))
    got = hitrate("test", server.url, *SHORT, "--json")
    assert (got.code, got.err) == (0, "HTTP 429: waiting 0.0 s as asked\n" * 2)
    first, second = got.json["turns"]
    assert (first["note"], first["state"], second["note"]) == ("waited 0.0 s before 2 more tries", "cold", None)
    assert (got.json["measurement"]["retries"], got.json["measurement"]["calls"]) == (2, 2)


def test_a_429_without_end_says_how_often_it_waited_and_how_to_lower_the_rate(hitrate, plain, short):
    server = plain(TOO_MANY)
    assert hitrate("test", server.url, *SHORT) == (
        3,
        "",
        "HTTP 429: waiting 0.0 s as asked\n"
        * 5
        + f"error: {server.address} still answers 429 (waited 0 s, 5 times; limit seen: 20 requests; it says: "
        "Rate limit reached (rate_limit_exceeded)); lower the rate with --rpm or use fewer --sessions\n",
    )


def test_a_429_that_asks_for_too_long_is_not_waited_for(hitrate, plain, short):
    server = plain(error(429, "Come back tomorrow", {"Retry-After": "86400"}))
    assert hitrate("test", server.url, *SHORT) == (
        3,
        "",
        f"error: {server.address} still answers 429 (it named no wait that is worth it; it says: Come back tomorrow); "
        "lower the rate with --rpm or use fewer --sessions\n",
    )


def test_a_429_in_the_middle_costs_one_row(hitrate, plain, short):
    server = plain(stream(), stream(), *[TOO_MANY] * 6, stream(cached=2900))
    got = hitrate("test", server.url, "--system", "short.txt", "--turns", 3, "--no-store", "--json")
    assert got.code == 0
    assert [(row["state"], row["note"]) for row in got.json["turns"]] == [
        ("cold", None),
        ("failed", "HTTP 429: Rate limit reached (rate_limit_exceeded); waited 0.0 s before 5 more tries"),
        ("hit", None),
    ]
    assert got.json["warnings"][0] == (
        "1 of 3 calls failed, the first in the sequential run at session 1, turn 2: "
        "HTTP 429: Rate limit reached (rate_limit_exceeded); waited 0.0 s before 5 more tries"
    )


# context too small

LLAMA_CPP = error(
    400,
    "request (3012 tokens) exceeds the available context size (2048 tokens), try increasing it",
    type="exceed_context_size_error",
    n_prompt_tokens=3012,
    n_ctx=2048,
)
OPENAI = error(
    400,
    "This model's maximum context length is 2048 tokens. However, your messages resulted in 3012 tokens. Please "
    "reduce the length of the messages.",
    code="context_length_exceeded",
)


@pytest.mark.parametrize(
    ("target", "answer", "says"),
    [
        (
            "llamacpp",
            LLAMA_CPP,
            "llamacpp: the prompt has 3,012 tokens and the context only 2,048 a slot; start the server with a larger "
            "context (slots share it) or fewer slots, e.g. hitrate engine llamacpp --context 32768 --slots 4",
        ),
        (
            "vllm",
            OPENAI,
            "vllm: the prompt has 3,012 tokens and the context only 2,048; start the server with a larger "
            "--max-model-len",
        ),
        (
            "sglang",
            error(400, "The input is longer than the context length"),
            "sglang: the prompt does not fit the context (The input is longer than the context length); start the "
            "server with a larger --context-length",
        ),
    ],
)
@pytest.mark.parametrize("command", ["test", "bench"])
def test_a_context_that_is_too_small(hitrate, plain, command, target, answer, says):
    """The short warm-up call fits; the first long prompt does not."""
    server = plain(stream(), answer)
    assert hitrate(command, target, "--base-url", server.url, "--no-store") == (3, "", f"error: {says}\n")
    assert len(server.calls) == 2


def test_slots_of_a_practice_server_that_are_too_small(hitrate, practice):
    url = practice(rule="slots", slots=4, context_tokens=8192)
    assert hitrate("test", "practice", "--base-url", url, "--no-store").err == (
        "error: practice: the prompt has 2,989 tokens and the context only 2,048 a slot; raise --context-limit, "
        "--capacity-tokens, or with slots --context-tokens (slots share it)\n"
    )


def test_a_conversation_that_grows_out_of_its_context_keeps_what_was_measured(hitrate, practice, short):
    url = practice(context_limit=400)
    got = hitrate("test", "practice", "--base-url", url, "--system", "short.txt", "--no-store", "--json")
    assert got.code == 0
    assert [row["state"] for row in got.json["turns"]] == ["cold", "hit", "failed", "failed", "failed"]


# cached tokens not reported


@pytest.mark.parametrize("fault", ["no-usage", "null-details", "no-details"])
def test_cached_tokens_that_are_not_reported_are_unknown_and_never_0(hitrate, practice, short, fault):
    url = practice(faults=(fault,))
    got = hitrate("test", "practice", "--base-url", url, *SHORT, "--json")
    assert got.code == 0
    assert [(row["cached_tokens"], row["hit_rate"], row["state"]) for row in got.json["turns"]] == [
        (None, None, "not reported")
    ] * 2
    assert {name: got.json["aggregate"][name] for name in ("cached_tokens", "hit_rate", "not_reported")} == {
        "cached_tokens": None,
        "hit_rate": None,
        "not_reported": 2,
    }
    assert (got.json["verdict"]["healthy"], got.json["verdict"]["cause"]) == (None, "not reported")


def test_the_flag_that_turns_the_report_on_is_named(hitrate, plain, short):
    server = plain(stream(cached=None))
    got = hitrate("test", "vllm", "--base-url", server.url, *SHORT)
    assert (
        "Cached tokens were not reported, so no hit rate can be given. Known of this target's reporting: only when "
        "started with --enable-prompt-tokens-details; without it prompt_tokens_details is null.\n"
    ) in got.out


def test_bench_says_so_too(hitrate, plain, short):
    server = plain(stream(cached=None))
    got = hitrate(
        "bench", "vllm", "--base-url", server.url, "--no-store", "--calls", 3, "--order", "stable-first", "--json"
    )
    assert [(call["cached_tokens"], call["hit_rate"]) for call in got.json["rows"][0]["calls"]] == [(None, None)] * 4
    assert "stable-first: cached tokens not reported on 4 of 4 calls" in got.json["warnings"]


# more cached than prompt tokens


def test_counts_that_contradict_each_other_are_marked_and_give_no_rate(hitrate, plain, short):
    server = plain(stream(prompt=100, cached=150))
    got = hitrate("test", server.url, *SHORT, "--json")
    assert [(row["cached_tokens"], row["hit_rate"], row["note"]) for row in got.json["turns"]] == [
        (None, None, "accounting fault: 150 cached of 100 prompt tokens")
    ] * 2
    assert got.json["aggregate"]["hit_rate"] is None
    assert got.json["verdict"]["cause"] == "accounting fault"


# malformed and cut streams


@pytest.mark.parametrize(
    ("fault", "note"),
    [
        ("malformed:every=3", "event 3 is malformed JSON"),
        ("cut:every=3", "the server cut the connection inside the reply, after"),
        ("error-after-200:every=3", "event 3: the server sent an error after status 200: the engine broke off"),
        ("500:every=3", "HTTP 500: The server had an error, as it was told to (server_error)"),
    ],
)
def test_a_broken_stream_costs_one_row_and_keeps_what_came(hitrate, practice, short, fault, note):
    """Call 1 is the warm-up, so that the fault strikes turns 2 and 5."""
    url = practice(faults=(fault,))
    got = hitrate("test", "practice", "--base-url", url, "--system", "short.txt", "--no-store", "--json")
    rows = got.json["turns"]
    assert got.code == 0
    assert [row["state"] for row in rows] == ["cold", "failed", "hit", "hit", "failed"]
    assert rows[1]["note"].startswith(note)
    assert rows[1]["cached_tokens"] in (None, rows[1]["expected_cached_tokens"])
    assert (rows[1]["ttft_ms"] is None) == fault.startswith("500")
    assert got.json["aggregate"]["failed"] == 2
    assert got.json["warnings"][0].startswith(
        f"2 of 5 calls failed, the first in the sequential run at session 1, turn 2: {note}"
    )
    assert got.json["verdict"]["healthy"] is True


def test_a_run_in_which_every_call_breaks_ends_with_3(hitrate, practice, short):
    url = practice(faults=("500",))
    got = hitrate("test", "practice", "--base-url", url, *SHORT, "--json")
    assert (got.code, got.json["verdict"]["text"]) == (3, "No call was answered whole.")


# input files


@pytest.mark.parametrize(
    ("option", "content", "says"),
    [
        ("--tools", '[{"name": "a",\n  "x": }]', ", line 2, column 8: expected JSON: expecting value"),
        (
            "--tools",
            '{"a": 1}',
            ': expected a JSON list of tool definitions, or an object with such a list as "tools"',
        ),
        (
            "--tools",
            '[{"name": "a"}, 5]',
            ': tool 2: expected an object with a "name", or with a "function" that has one',
        ),
        (
            "--tools",
            '[{"type": "function", "function": {}}]',
            ': tool 1: expected an object with a "name", or with a "function" that has one',
        ),
        ("--system", b"first\nab\xffc", ", line 2, column 3: expected UTF-8 text, found byte 0xff"),
        ("--tool-loop", "[1]", ": expected a JSON object that maps tool names to results"),
        ("--tool-loop", "{}", ": expected a JSON object that maps tool names to results"),
        ("--tool-loop", '{"a": }', ", line 1, column 7: expected JSON: expecting value"),
    ],
)
def test_a_wrong_input_file_is_named_with_its_place(hitrate, file, option, content, says):
    name = file("input", content)
    assert hitrate("test", "practice", option, name) == (2, "", f"error: input{says}\n")


def test_an_empty_file_of_questions(hitrate, file):
    assert hitrate("bench", "practice", "--questions", file("questions.txt", "\n \n")) == (
        2,
        "",
        "error: questions.txt: expected one question a line, found none\n",
    )


def test_a_file_that_is_not_there(hitrate):
    assert hitrate("test", "practice", "--system", "nowhere.txt") == (
        2,
        "",
        "error: cannot read nowhere.txt: No such file or directory\n",
    )


def test_tools_without_a_canned_result_are_told_before_the_run(hitrate, file):
    tools = file("tools.json", json.dumps([{"name": "look"}, {"name": "ask"}]))
    results = file("results.json", '{"look": "nothing"}')
    assert hitrate("test", "practice", "--tools", tools, "--tool-loop", results) == (
        2,
        "",
        "error: results.json: expected a result for every tool, none for ask\n",
    )


def test_a_store_from_a_newer_version(hitrate, tmp_path):
    with sqlite3.connect(tmp_path / "runs.sqlite3") as store:
        store.execute("pragma user_version = 99")
    got = hitrate("runs")
    assert (got.code, got.out) == (2, "")
    assert got.err.startswith(f"error: {tmp_path}/runs.sqlite3 was written by a newer hitrate")


def test_a_store_that_cannot_be_written_is_said_and_the_run_goes_on(hitrate, practice, short, monkeypatch):
    monkeypatch.setenv("HITRATE_STORE", "/proc/hitrate/runs.sqlite3")
    got = hitrate("test", "practice", "--base-url", practice(), "--system", "short.txt", "--json")
    assert got.code == 0
    assert got.err.startswith("note: this run is not stored: ")
    assert len(got.err.splitlines()) == 1
    assert (got.json["run_id"], got.json["aggregate"]["calls"]) == (None, 5)


def test_a_page_that_cannot_be_written_is_told_before_the_run(hitrate, plain):
    server = plain(stream())
    assert hitrate("test", server.url, "--html", "/no/such/page.html") == (
        2,
        "",
        "error: cannot write /no/such/page.html: No such file or directory\n",
    )
    assert server.paths == []


# the command line


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("test",), "Missing argument 'TARGET'.\nhint: hitrate test --help"),
        (("tets",), "No such command 'tets'. Did you mean 'test'?\nhint: hitrate --help"),
        (("test", "practise"), "no target called 'practise'; nearest: practice; or give a base URL with http://"),
        (
            ("test", "practice", "--price", "1,2"),
            "Invalid value for '--price': expected INPUT,CACHED,OUTPUT in USD per million tokens, like "
            "0.30,0.006,1.20; got '1,2'\nhint: hitrate test --help",
        ),
        (
            ("test", "practice", "--pad", "64,x"),
            "Invalid value for '--pad': expected whole numbers with commas between, like 512,1024; got '64,x'\n"
            "hint: hitrate test --help",
        ),
        (
            ("test", "practice", "--pad", "0"),
            "Invalid value for '--pad': expected numbers of at least 1\nhint: hitrate test --help",
        ),
        (
            ("bench", "practice", "--extra", "seed"),
            "Invalid value for '--extra': expected NAME=VALUE, got 'seed'\nhint: hitrate bench --help",
        ),
        (
            ("test", "vllm", "--replicas", "3"),
            "--replicas is an option of the practice server and goes with the target practice alone",
        ),
        (
            ("test", "practice", "--base-url", "http://127.0.0.1:1/v1", "--rule", "slots"),
            "--rule is an option of the practice server and goes with the target practice alone",
        ),
        (
            ("test", "practice", "--replay", "rxxxx", "--sessions", "3"),
            "--sessions cannot go with --replay, which sends the run's first session as it was",
        ),
        (
            ("compare", "practice", "practice", "--base-url", "http://127.0.0.1:1/v1"),
            "--base-url cannot say whether A or B is meant: give an address as A or B, or targets.toml",
        ),
        (
            ("compare", "nothing", "practice"),
            "'nothing' is neither a target nor a stored run: no run 'nothing': no run is stored in {store}",
        ),
    ],
)
def test_a_wrong_command_line(hitrate, tmp_path, arguments, says):
    says = says.replace("{store}", str(tmp_path / "runs.sqlite3"))
    assert hitrate(*arguments) == (2, "", f"error: {says}\n")


def test_an_unknown_rule_set_is_told_before_anything_is_sent(hitrate, plain):
    server = plain(stream())
    got = hitrate("test", server.url, "--rule-set", "vllm")
    assert got.code == 2
    assert got.err.startswith(
        "error: no cache rule is called 'vllm'; known: block-chain, longest-prefix, slots, vllm-2"
    )
    assert server.calls == []


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        (("--rule-setting", "block_size=16"), "--rule-setting block_size: {address} has no rule that it could change; "
        "name one with --rule-set"),
        (
            ("--rule-set", "block-chain", "--rule-setting", "blocksize=16"),
            "cache rule block-chain: got an unexpected keyword argument 'blocksize'",
        ),
    ],
)  # fmt: skip
def test_a_wrong_rule_setting_is_told_before_anything_is_sent(hitrate, plain, setting, says):
    server = plain(stream())
    assert hitrate("test", server.url, *setting) == (2, "", f"error: {says.format(address=server.address)}\n")
    assert server.calls == []


# budget


def test_a_budget_that_is_too_low(hitrate, practice):
    assert hitrate("test", "practice", "--base-url", practice(), "--budget", "0.00001") == (
        2,
        "",
        "error: estimated cost: at most $0.0067 for 5 calls, about 21,585 prompt tokens, none cached; that is over "
        "--budget $0.00001; nothing was sent\n",
    )


def test_a_budget_without_a_price(hitrate, plain):
    server = plain(stream())
    assert hitrate("test", server.url, "--budget", "1") == (
        2,
        "",
        f"error: --budget cannot be held: no price is known for {server.address}; give it with --price; nothing was "
        "sent\n",
    )
    assert server.calls == []


def test_a_budget_that_runs_out_stops_the_run_and_shows_what_was_measured(hitrate, plain, short):
    """The server counts ten times what its prompts hold."""
    server = plain(stream(prompt=3000))
    priced = ("--price", "10,10,10", "--budget", "0.05", "--system", "short.txt", "--no-store", "--json")
    got = hitrate("test", server.url, *priced)
    assert got.code == 0
    assert got.json["aggregate"]["calls"] == 1
    assert got.json["warnings"][0].startswith(
        "stopped by --budget: $0.0600 of $0.05 spent, and the next call may cost "
    )
    assert len(server.calls) == 2
