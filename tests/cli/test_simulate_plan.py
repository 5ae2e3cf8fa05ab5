"""`hitrate simulate` with prices, virtual time and goals: to a plan, or to one line that says what is missing."""

from __future__ import annotations

import json

import pytest

LLAMA_8B = {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096}
TIMING = """\
[timing]
step_s = 0.01
prefill_token_s = 0.0001
max_running_requests = 8
max_batched_tokens = 2048
"""


@pytest.fixture
def trace(tmp_path):
    """Forty requests of 600 tokens, ten a second: a shared block, and one of eight behind it."""
    file = tmp_path / "trace.jsonl"
    rows = [
        {"timestamp": 100 * n, "input_length": 600, "output_length": 10, "hash_ids": [0, 1 + n % 8]} for n in range(40)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def timing(tmp_path):
    file = tmp_path / "timing.toml"
    file.write_text(TIMING)
    return file


def test_a_goal_in_virtual_time_chooses_how_many_replicas(hitrate, trace, timing):
    arguments = ("--replicas", "1..8", "--policy", "first-blocks", "--timing", timing, "--json")
    found = hitrate("simulate", trace, *arguments, "--slo-ttft", "p90:200ms", "--rate", 20).json

    chosen = found["rows"][found["plan"]["choices"][0]["row"]]
    smaller = [row for row in found["rows"] if row["replicas"] < chosen["replicas"]]
    assert (found["timing"], found["arrival_rate"], found["plan"]["goal"]) == (
        str(timing),
        20.0,
        {"statistic": "p90", "seconds": 0.2},
    )
    assert chosen["ttft_p90_s"] <= 0.2 < min(row["ttft_p90_s"] for row in smaller)
    assert chosen["plan"] == "chosen"


def test_a_set_up_that_comes_with_hitrate(hitrate, trace):
    (row,) = hitrate("simulate", trace, "--timing", "rtx-pro-6000-llama-3.1-8b", "--json").json["rows"]

    assert 0 < row["ttft_p50_s"] <= row["ttft_p99_s"]
    assert 0 < row["gpu_seconds_busy"] <= row["gpu_seconds_provisioned"]


def test_a_vendors_bill_at_prices_of_ones_own(hitrate, trace):
    (row,) = hitrate("simulate", trace, "--rules", "leaf-lru", "--price", "2,0.5,8", "--json").json["rows"]

    hits, prompt, output = row["hit_tokens"], 40 * 600, 40 * 10
    assert hits == 39 * 512 + 32 * 88
    assert row["hosted_usd_without_caching"] == pytest.approx((2 * prompt + 8 * output) / 1e6)
    assert row["hosted_usd"] == pytest.approx((2 * (prompt - hits) + 0.5 * hits + 8 * output) / 1e6)


def test_a_model_is_looked_up_where_prices_are(hitrate, trace, tmp_path):
    listed = hitrate("simulate", trace, "--price", "gpt-4.1", "--json").json["price"]
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "prices.toml").write_text('[[price]]\nmodel = "own-*"\ninput = 1\ncached = 0.1\noutput = 2\n')
    own = hitrate("simulate", trace, "--price", "own-model", "--provider", "crusoe", "--json").json["price"]

    assert (listed["input_usd_per_mtok"], listed["cached_usd_per_mtok"], listed["output_usd_per_mtok"]) == (2, 0.5, 8)
    assert (own["cached_usd_per_mtok"], own["source"]) == (0.1, str(folder / "prices.toml"))


def test_lifetimes_of_a_vendors_cache_are_weighed_by_the_bill(hitrate, tmp_path):
    """Prompts come back after ten minutes: an hour's writes are dearer, but for five minutes nothing is read."""
    trace = tmp_path / "slow.jsonl"
    rows = [
        {"timestamp": 600_000 * n, "input_length": 2048, "output_length": 1, "hash_ids": [0, 1, 2, 3]} for n in range(9)
    ]
    trace.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = hitrate("simulate", trace, "--ttl", "5m,1h", "--price", "3,0.3,15,3.75,6", "--json").json

    five_minutes, hour = found["rows"]
    assert (five_minutes["hit_tokens"], hour["hit_tokens"]) == (0, 8 * 1536)
    assert hour["hosted_usd"] < five_minutes["hosted_usd"]
    assert five_minutes["hosted_usd"] > five_minutes["hosted_usd_without_caching"]
    assert [choice["row"] for choice in found["plan"]["choices"]] == [1]


def test_money_and_memory_of_a_fleet_with_its_configuration(hitrate, trace, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({**LLAMA_8B, "torch_dtype": "bfloat16"}))
    fleet = ("--replicas", 2, "--policy", "sglang-cache-aware:abs=32", "--gib", 0.25, "--model-config", config)
    out = hitrate("simulate", trace, *fleet, "--usd-per-gpu-hour", 2.5, "--gpus-per-replica", 2, "--markdown").out

    assert "GPUs at $2.5 an hour, 2 GPUs a replica, are paid for from the first request to the last" in out
    assert "  --balance-abs-threshold 32 \\\n" in out
    assert "  --kv-cache-memory-bytes 134217728\n" in out
    assert "hit rates say what is not computed again" in out


def test_a_store_behind_all_replicas(hitrate, trace):
    fleet = ("--replicas", 4, "--policy", "round-robin", "--store-gib", "none,unlimited")
    alone, shared = hitrate("simulate", trace, *fleet, "--json").json["rows"]

    assert (alone["store"], shared["store"]) == (None, "unlimited")
    assert shared["hit_tokens"] == 39 * 512 > alone["hit_tokens"]


def test_rows_alone(hitrate, trace):
    found = hitrate("simulate", trace, "--replicas", 2, "--no-plan", "--json").json

    assert (found["plan"], found["rows"][0]["plan"]) == (None, None)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--slo-ttft", "soon"), "expected a time like 2s or 800ms, of the p99 or as p90:2s or mean:1s; got 'soon'"),
        (("--slo-ttft", "p95:2s"), "got 'p95:2s'"),
        (("--store-gib", "some"), "expected GiB above 0, none or unlimited, with commas between; got 'some'"),
        (("--store-gib", "none,64"), "--store-gib needs --model-config"),
        (("--slo-ttft", "0s"), "got '0s'"),
        (("--slo-ttft", "2s"), "--slo-ttft is a goal for times: name the engine they are of with --timing"),
        (("--timing", "rtx-pro-6000-llama-3.1"), "did you mean 'rtx-pro-6000-llama-3.1-8b'?"),
        (
            ("--price", "no-such-model"),
            "--price no-such-model: it is not known who sells this model; say so with --prov",
        ),
        (("--price", "1,2"), "expected IN,CACHED,OUT[,WRITE[,WRITE1H]] in USD per million tokens"),
        (
            ("--provider", "openai"),
            "--provider and --prices-from say whose price is meant; name the model with --price",
        ),
        (("--rate", "0"), "0"),
        (("--usd-per-gpu-hour", "nan"), "nan"),
        (
            ("--timing", "rtx-pro-6000-llama-3.1-8b", "--rules", "block-lru"),
            "rule block-lru is of one cache by itself; an engine's time can be replayed with rules of engines",
        ),
    ],
)
def test_what_is_missing_or_wrong_is_said_in_one_line(hitrate, trace, arguments, said):
    outcome = hitrate("simulate", trace, *arguments)

    assert outcome.code == 2
    assert said in outcome.err.splitlines()[0]
