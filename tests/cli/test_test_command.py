"""`hitrate test` from end to end, on practice servers whose caches and routing are known."""

from __future__ import annotations

import json

import pytest
from plain_server import error, stream

TURN_KEYS = {
    "run",
    "session",
    "turn",
    "prompt_tokens",
    "cached_tokens",
    "expected_cached_tokens",
    "hit_rate",
    "ttft_ms",
    "state",
}
TOOLS = json.dumps(
    [{"name": "weather", "parameters": {"type": "object", "properties": {"town": {"type": "string"}}}}, {"name": "ask"}]
)


@pytest.fixture
def short(file):
    """About 250 tokens, so that a call takes some milliseconds."""
    return file("short.txt", "Answer in one word. " * 50)


@pytest.fixture
def on(hitrate, short):
    """`hitrate test` of the practice server at a URL, its JSON."""

    def measured(url, *options, system=short, code=0):
        got = hitrate("test", "practice", "--base-url", url, "--system", system, "--json", *options)
        assert got.code == code, got.err
        return got.json

    return measured


def counts(rows):
    return [(row["cached_tokens"], row["expected_cached_tokens"]) for row in rows]


def test_the_keys_that_others_build_on(on, practice):
    result = on(practice(), "--turns", 2, "--sessions", 2)
    assert next(iter(result)) == "schema_version"
    assert all(row.keys() >= TURN_KEYS for row in result["turns"])
    assert result["aggregate"].keys() >= {"prompt_tokens", "cached_tokens", "hit_rate", "not_reported"}
    assert result["verdict"].keys() >= {"healthy", "routing_is_a_factor", "text"}
    assert [(row["run"], row["session"], row["turn"]) for row in result["turns"]] == [
        ("sequential", 1, 1),
        ("sequential", 1, 2),
        ("parallel", 1, 1),
        ("parallel", 1, 2),
        ("parallel", 2, 1),
        ("parallel", 2, 2),
    ]


# what the rule predicts is what is reported


@pytest.mark.parametrize(
    ("options", "step"),
    [
        ({"block_size": 1}, 1),
        ({"block_size": 16}, 16),
        ({"block_size": 64}, 64),
        ({"block_size": 128}, 128),
        ({"minimum_tokens": 300}, 16),
        ({"rule": "longest-prefix"}, 1),
        ({"rule": "longest-prefix", "block_size": 32}, 32),
        ({"rule": "slots"}, 1),
    ],
)
def test_predicted_is_reported_on_every_call(on, practice, options, step):
    rows = on(practice(**options), "--turns", 6)["turns"]
    assert all(cached == expected for cached, expected in counts(rows))
    assert all(row["cached_tokens"] % step == 0 for row in rows)
    assert rows[0]["cached_tokens"] == 0 < rows[2]["cached_tokens"] < rows[5]["cached_tokens"]
    assert [row["state"] for row in rows[3:]] == ["hit"] * 3


def test_a_minimum_keeps_short_prompts_out(on, practice):
    result = on(practice(minimum_tokens=2000))
    assert [row["state"] for row in result["turns"]] == ["too short"] * 5
    assert result["verdict"]["cause"] == "too short"
    assert "this cache rule reuses nothing below 2,000" in result["verdict"]["text"]


def test_a_prompt_of_twenty_words_is_healthy_in_blocks_of_16(on, practice, file):
    tiny = file(
        "tiny.txt", "You answer questions about the weather of towns and you never make up anything at all, ever."
    )
    result = on(practice(), system=tiny)
    assert all(cached == expected for cached, expected in counts(result["turns"]))
    assert result["verdict"]["healthy"] is True


def test_a_healthy_session(on, practice):
    result = on(practice())
    cached = [row["cached_tokens"] for row in result["turns"]]
    assert cached == sorted(set(cached))
    assert [row["state"] for row in result["turns"]] == ["cold", "hit", "hit", "hit", "hit"]
    assert all(0 <= row["hit_rate"] <= 1 for row in result["turns"])
    rate = result["aggregate"]["cached_tokens"] / result["aggregate"]["prompt_tokens"]
    assert result["aggregate"]["hit_rate"] == rate
    assert (result["verdict"]["healthy"], result["verdict"]["cause"]) == (True, None)
    assert result["expectation"]["rule_set"] == "block-chain (block 16)"


# routing


def test_18_replicas_reached_at_random_find_a_history_1_time_in_18(on, practice):
    result = on(practice(replicas=18), "--turns", 3, "--sessions", 60)
    verdict = result["verdict"]
    assert (verdict["healthy"], verdict["routing_is_a_factor"], verdict["cause"]) == (False, True, "replica")
    second, third = (one["found"] for one in result["per_turn"] if one["run"] == "parallel" and one["turn"] > 1)
    assert (second["n"], third["n"]) == (60, 60)
    hits = round(60 * (second["estimate"] + third["estimate"]))
    assert 1 <= hits <= 16  # 6.7 are expected of 120; outside of this once in a thousand runs
    assert verdict["replicas"]["n"] == 122
    assert verdict["replicas"]["low"] < verdict["replicas"]["estimate"] < verdict["replicas"]["high"]
    assert verdict["replicas"]["low"] < 30 and verdict["replicas"]["high"] > 12


@pytest.mark.parametrize(
    "options", [{"routing": "session-affinity"}, {"routing": "cache-aware"}, {"routing": "random", "shared": True}]
)
def test_affinity_or_a_shared_store_make_parallel_and_sequential_equal(on, practice, options):
    result = on(practice(replicas=6, **options), "--turns", 4, "--sessions", 8)
    assert all(one["found"]["estimate"] == 1.0 for one in result["per_turn"] if one["turn"] > 1)
    assert (result["verdict"]["healthy"], result["verdict"]["routing_is_a_factor"]) == (True, False)
    assert "Parallel and sequential are equal per turn: routing is no factor." in result["verdict"]["text"]


def test_two_replicas_in_turn_are_routing(on, practice):
    """Three sessions, so that a session's calls do not always reach the same one."""
    result = on(practice(replicas=2, routing="round-robin"), "--sessions", 3)
    assert (result["verdict"]["routing_is_a_factor"], result["verdict"]["cause"]) == (True, "replica")


def test_two_replicas_in_turn_look_like_a_write_delay_in_sequence_and_both_are_named(on, practice):
    verdict = on(practice(replicas=2, routing="round-robin"))["verdict"]
    assert (verdict["routing_is_a_factor"], verdict["cause"]) == (None, "write delay")
    assert "or calls go to two replicas in turn (routing)" in verdict["text"]


def test_without_affinity_sessions_are_scattered_and_the_knob_is_named(on, practice):
    url = practice(replicas=18, routing="session-affinity")
    verdict = on(url, "--sessions", 8, "--affinity", "none")["verdict"]
    assert (verdict["routing_is_a_factor"], verdict["cause"]) == (True, "replica")
    assert verdict["text"].endswith("Send the session's affinity: --affinity auto sets body member prompt_cache_key.")


# other known causes


def test_an_entry_that_is_readable_late_is_a_write_delay(on, practice):
    """A turn takes 194 ms at least for its 32 tokens; the delay is longer than one turn and shorter than two, by enough
    for a busy machine."""
    url = practice(decode_rate=160.0, write_delay_ms=380.0)
    result = on(url, "--turns", 4, "--sessions", 2)
    assert (result["verdict"]["cause"], result["verdict"]["routing_is_a_factor"]) == ("write delay", False)
    assert result["expectation"]["note"] == "without write delay"


def test_an_entry_that_is_readable_too_late_for_all_turns(on, practice):
    verdict = on(practice(write_delay_ms=60_000.0))["verdict"]
    assert (verdict["healthy"], verdict["cause"]) == (False, "no reuse")
    assert "an entry may become readable later than the next turn came" in verdict["text"]


def test_sessions_that_start_at_once_race_for_their_opening(on, practice):
    """The first token comes after 150 ms, when all three calls have long been sent."""
    verdict = on(practice(base_ms=150.0), "--turns", 2, "--sessions", 3)["verdict"]
    assert (verdict["healthy"], verdict["routing_is_a_factor"], verdict["cause"]) == (True, False, "race")


def test_an_engine_that_keeps_nothing(on, practice):
    result = on(practice(rule="none"), "--sessions", 2)
    assert all(row["cached_tokens"] == 0 for row in result["turns"])
    assert (result["verdict"]["healthy"], result["verdict"]["cause"]) == (False, "no reuse")


def test_sessions_that_do_not_fit_together(on, practice):
    """One session grows to about 580 tokens; a second one has no room beside it."""
    verdict = on(practice(capacity_tokens=700), "--sessions", 4)["verdict"]
    assert verdict["healthy"] is False
    assert verdict["cause"] == "eviction"
    assert verdict["routing_is_a_factor"] is not True


def test_more_sessions_than_slots(on, practice):
    result = on(practice(rule="slots", slots=1), "--sessions", 3)
    assert (result["verdict"]["cause"], result["verdict"]["routing_is_a_factor"]) == ("capacity", False)


# options


def test_an_agents_loop_is_replayed_faithfully(on, practice, file, hitrate):
    tools = file("tools.json", TOOLS)
    results = file("results.json", '{"weather": ["rain", {"sun": 1}], "*": "nothing"}')
    result = on(practice(tool_calls=True), "--tools", tools, "--tool-loop", results, "--turns", 6)
    assert all(cached == expected for cached, expected in counts(result["turns"]))
    assert [row["state"] for row in result["turns"]] == ["cold", "hit", "hit", "hit", "hit", "hit"]
    assert result["verdict"]["healthy"] is True


def test_what_an_agents_loop_sends(hitrate, plain, file, short):
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    chunk = {"index": 0, **call}
    body = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": None, "tool_calls": [chunk]}}]}
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    asks = stream()._replace(
        body=b"".join(b"data: %b\n\n" % json.dumps(one).encode() for one in (body, end)) + b"data: [DONE]\n\n"
    )
    server = plain(stream(), asks, stream("It rains."), stream())
    tools, results = file("tools.json", TOOLS), file("results.json", '{"weather": ["rain", {"sun": 1}], "ask": "x"}')
    options = ("--system", short, "--tools", tools, "--tool-loop", results, "--turns", 3, "--no-store")
    assert hitrate("test", server.url, *options).code == 0
    _, first, second, third = server.calls
    assert first["tools"] == [{"type": "function", "function": tool} for tool in json.loads(TOOLS)]
    assert second["messages"] == [
        *first["messages"],
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
    ]
    assert third["messages"][:-1] == [*second["messages"], {"role": "assistant", "content": "It rains."}]
    assert third["messages"][-1]["role"] == "user"


@pytest.mark.parametrize("block", [16, 32, 128])
def test_padding_finds_the_step(on, practice, block):
    result = on(practice(block_size=block), "--turns", 2, "--pad", "128,256,384,512,1024,1536")
    assert result["verdict"]["granularity"] == block
    assert all(row["cached_tokens"] == row["expected_cached_tokens"] for row in result["pad"])


def test_padding_finds_a_minimum(on, practice):
    result = on(practice(minimum_tokens=1024), "--turns", 1, "--pad", "100,300,900,1300,1700")
    assert [row["cached_tokens"] > 0 for row in result["pad"]] == [False, False, True, True, True]
    assert "Nothing is credited at " in result["verdict"]["text"]


def test_repeats_say_whether_the_counts_are_the_same(on, practice):
    result = on(practice(), "--turns", 3, "--repeat", 2)
    assert result["verdict"]["repeatable"] is True
    assert {row["run"] for row in result["turns"]} == {"sequential#1", "sequential#2"}
    assert result["turns"][3]["cached_tokens"] == 0  # the second run does not find the first one's opening


def test_repeats_on_replicas_are_not_the_same(on, practice):
    assert on(practice(replicas=3), "--turns", 6, "--repeat", 3)["verdict"]["repeatable"] is False


def test_without_isolation_a_second_run_is_warm_and_says_so(on, practice):
    url = practice()
    assert not any("was warm" in text for text in on(url, "--cold", "none")["warnings"])
    again = on(url, "--cold", "none")
    assert again["turns"][0]["state"] == "hit"
    assert any(
        text.startswith("the first call was served from cache: the server was warm") for text in again["warnings"]
    )


def test_with_isolation_a_second_run_is_cold(on, practice):
    url = practice()
    assert [on(url)["turns"][0]["cached_tokens"] for _ in range(2)] == [0, 0]


def test_a_replayed_run_sends_the_same_prompts(on, practice, hitrate):
    first = on(practice())
    again = hitrate(
        "test", "practice", "--base-url", practice(block_size=64), "--replay", first["run_id"], "--json"
    ).json
    assert [row["prompt_tokens"] for row in again["turns"]] == [row["prompt_tokens"] for row in first["turns"]]
    assert all(cached == expected for cached, expected in counts(again["turns"]))
    assert again["turns"][4]["cached_tokens"] == first["turns"][4]["cached_tokens"] // 64 * 64


@pytest.mark.parametrize(
    "fault", ["crlf", "no-space", "split", "merge", "no-done", "comment", "early-role", "no-role", "reasoning-first"]
)
def test_spellings_of_a_stream_change_no_count(on, practice, fault):
    result = on(practice(faults=(fault,)))
    assert all(cached == expected for cached, expected in counts(result["turns"]))
    assert [row["state"] for row in result["turns"]] == ["cold", "hit", "hit", "hit", "hit"]
    assert all(0 < row["ttft_ms"] <= row["total_ms"] for row in result["turns"])


def test_parameters_that_a_model_refuses_are_left_out(hitrate, plain, short):
    def picky(body):
        for name in ("max_tokens", "temperature"):
            if name in body:
                return error(400, f"Unsupported parameter: '{name}' is not supported with this model.")
        return stream()

    server = plain(picky)
    got = hitrate("test", server.url, "--system", short, "--turns", 2, "--no-store", "--json")
    assert [row["state"] for row in got.json["turns"]] == ["cold", "miss"]
    assert [sorted(body.keys() & {"max_tokens", "temperature"}) for body in server.calls] == [
        ["max_tokens", "temperature"],
        ["temperature"],
        [],
        [],
        [],
    ]


@pytest.mark.parametrize(
    ("affinity", "body_member", "header"),
    [("none", None, None), ("user", "user", None), ("x-session-id:", None, "x-session-id"), ("auto", None, None)],
)
def test_affinity_reaches_the_server(hitrate, plain, short, affinity, body_member, header):
    server = plain(stream())
    options = ("--system", short, "--turns", 2, "--sessions", 2, "--affinity", affinity, "--no-store")
    assert hitrate("test", server.url, *options).code == 0
    calls, headers = server.calls[1:], server.headers[1:]
    sent = [body.get(body_member) for body in calls] if body_member else [one.get(header) for one in headers]
    knobs = {"user", "prompt_cache_key"} - {body_member}
    assert not any(knobs & body.keys() for body in calls)
    assert len(set(sent)) == (3 if body_member or header else 1)  # one sequential and two parallel sessions


def test_a_target_of_the_users_own(hitrate, plain, short, tmp_path, monkeypatch):
    server = plain(stream(), stream(), stream(cached=2900))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "targets.toml").write_text(
        f'[staging]\nbase_url = "{server.url}"\nkey_variable = "STAGING_KEY"\nextra = {{ seed = 7 }}\n'
        'affinity = [{ place = "header", name = "x-team" }]\n'
    )
    monkeypatch.setenv("STAGING_KEY", "k-123")
    got = hitrate("test", "staging", "--system", short, "--turns", 2, "--header", "x-a=b", "--json")
    assert (got.code, got.json["target"], got.json["model"]) == (0, "staging", "m")
    assert [body["seed"] for body in server.calls] == [7, 7, 7]
    assert server.headers[2]["authorization"] == "Bearer k-123"
    assert server.headers[2]["x-team"].startswith("hitrate-")
    assert server.headers[2]["x-a"] == "b"
    assert "k-123" not in hitrate("show", got.json["run_id"], "--json").out


def test_a_hosted_target_is_judged_by_the_counts_it_reports(hitrate, practice, short):
    """No rule is known for an address: sixteens are read off the counts, and what each turn had to find off the prompt
    tokens of the turn before."""
    url = practice(replicas=4, routing="session-affinity")
    got = hitrate(
        "test", url, "--model", "practice", "--system", short, "--sessions", 3, "--affinity", "user", "--json"
    )
    assert (got.json["verdict"]["healthy"], got.json["verdict"]["routing_is_a_factor"]) == (True, False)
    scattered = practice(replicas=4)
    got = hitrate("test", scattered, "--model", "practice", "--system", short, "--sessions", 6, "--json")
    assert (got.json["verdict"]["cause"], got.json["verdict"]["routing_is_a_factor"]) == ("replica", True)


@pytest.mark.parametrize("turns", [2, 5, 9])
def test_a_coarse_step_on_one_server_is_never_called_replicas(hitrate, practice, turns):
    """The default opening fills two blocks of 1,024 and some turns the third."""
    got = hitrate("test", practice(block_size=1024), "--model", "practice", "--turns", turns, "--json")
    verdict = got.json["verdict"]
    assert (verdict["healthy"], verdict["routing_is_a_factor"]) == (None, None)
    assert verdict["cause"] == ("fixed prefix" if turns == 2 else "granularity")
    assert verdict["replicas"] is None


def test_a_fixed_prefix_is_named(hitrate, plain, short):
    server = plain(*(stream(prompt=3000 + 80 * turn, cached=2048 if turn > 1 else 0) for turn in range(7)))
    got = hitrate("test", server.url, "--system", short, "--turns", 6, "--no-store")
    assert "all were served the same 2,048 tokens: either a fixed prefix alone is cached" in got.out
    assert "got less than the longest common prefix" in got.out
    assert "replicas" not in got.out


def test_a_step_above_128_is_read_off_the_counts(hitrate, practice):
    url = practice(block_size=256)
    verdict = hitrate("test", url, "--model", "practice", "--turns", 12, "--json").json["verdict"]
    assert (verdict["healthy"], verdict["routing_is_a_factor"]) == (True, False)


def test_replies_in_one_piece_are_judged_like_streamed_ones(hitrate, plain, short):
    def whole(prompt, cached):
        usage = {"prompt_tokens": prompt, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": cached}}
        message = {"role": "assistant", "content": "Yes."}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        body = json.dumps({"id": "r", "model": "m", "choices": choices, "usage": usage}).encode()
        return stream()._replace(body=body, headers={"Content-Type": "application/json"})

    served = [(3000, 0), (3000, 0), (3080, 2990), (3160, 3070)]
    of_one_piece = plain(*(whole(*one) for one in served))
    streamed = plain(*(stream(prompt=prompt, cached=cached) for prompt, cached in served))
    options = ("--system", short, "--turns", 3, "--no-store", "--json")
    one, other = (hitrate("test", server.url, *options).json for server in (of_one_piece, streamed))
    assert [row["ttft_ms"] for row in one["turns"]] == [None] * 3
    assert [row["state"] for row in one["turns"]] == [row["state"] for row in other["turns"]] == ["cold", "hit", "hit"]
    assert one["verdict"] == other["verdict"]
    assert "the target did not stream: no time to first token" in one["warnings"]


def test_nothing_is_said_of_reporting_where_nothing_is_known(hitrate, plain, short):
    got = hitrate("test", plain(stream(cached=None)).url, "--system", short, "--turns", 2, "--no-store")
    assert "Cached tokens were not reported, so no hit rate can be given.\n" in got.out
    assert "Known of" not in got.out


@pytest.mark.parametrize("turns", [2, 5, 9])
def test_a_vendor_without_a_published_rule_is_not_taken_for_replicas(hitrate, practice, monkeypatch, turns):
    monkeypatch.setenv("MOONSHOT_API_KEY", "sk-x")
    where = ("moonshot", "--base-url", practice(imitates="moonshot"), "--model", "kimi-k2-0905-preview")
    verdict = hitrate("test", *where, "--turns", turns, "--no-store", "--json").json["verdict"]
    assert verdict["healthy"] is not False
    assert not verdict["routing_is_a_factor"]


def test_a_session_that_falls_back_on_replicas_is_told_without_a_published_rule(hitrate, practice):
    got = hitrate("test", practice(replicas=3), "--model", "practice", "--turns", 12, "--sessions", 4, "--json")
    assert (got.json["verdict"]["routing_is_a_factor"], got.json["verdict"]["cause"]) == (True, "replica")
