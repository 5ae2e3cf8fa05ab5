"""`hitrate simulate` from a trace or a log to figures that are known."""

from __future__ import annotations

import csv
import io
import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from hitrate.cli.group import run

MOONCAKE = Path(__file__).parents[1] / "data" / "engines" / "mooncake_conversation.jsonl.gz"

LLAMA_8B = {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096}


def test_a_single_point_of_mooncakes_conversations(hitrate):
    found = hitrate(
        "simulate", MOONCAKE, "--rules", "vllm", "--block-size", 512, "--capacity-blocks", 50_000, "--json"
    ).json

    assert {name: found[name] for name in list(found)[:13] if name != "trace"} == {
        "schema_version": 1,
        "kind": "simulate",
        "format": "mooncake",
        "prompt_tokens": 144_793_823,
        "hit_tokens": 52_594_176,
        "hit_rate": 52_594_176 / 144_793_823,
        "definition": "tokens",
        "rule_set": "vllm",
        "capacity_blocks": 50_000,
        "replicas": 1,
        "policy": None,
        "seed": 0,
    }


@pytest.fixture
def trace(tmp_path):
    """Six requests of two blocks each; the second half repeats the first."""
    file = tmp_path / "trace.jsonl"
    rows = [
        {"timestamp": 1000 * n, "input_length": 600, "output_length": 1, "hash_ids": [2 * (n % 3), 2 * (n % 3) + 1]}
        for n in range(6)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


TABLE = """\
simulate · trace.jsonl · mooncake, blocks of 512 tokens

           capacity  prompt     hit     hit
rule         blocks  tokens  tokens  rate %  counted
────────────────────────────────────────────────────
leaf-lru          4   3,600       0    0.00  tokens
leaf-lru          6   3,600   1,800   50.00  tokens
leaf-lru  unlimited   3,600   1,800   50.00  tokens

6 requests, 12 blocks, 6 of them distinct
counted by tokens: tokens served / input tokens
"""


def test_the_table(hitrate, trace):
    assert hitrate("simulate", trace.name, "--rules", "leaf-lru", "--capacity-blocks", "4,6,unlimited").out == TABLE


def test_the_curve_in_gib_of_the_last_half(hitrate, trace, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({**LLAMA_8B, "torch_dtype": "bfloat16"}))
    found = hitrate(
        "simulate", trace, "--curve", "--definition", "vllm", "--last", "50%", "--model-config", config, "--json"
    ).json

    assert [(p["capacity_blocks"], p["hit_tokens"], p["capacity_gib"]) for p in found["curve"]["points"]][-1] == (
        6,
        1536,
        6 / 16,
    )
    assert (found["kv_bytes_per_token"], found["rows"], found["hit_tokens"]) == (131_072, [], None)


def test_ranges_double_and_csv_has_a_row_a_cache(hitrate, trace, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({**LLAMA_8B, "torch_dtype": "bfloat16"}))
    out = hitrate(
        "simulate", trace, "--capacity-blocks", "1..5", "--gib", "0.25..1", "--model-config", config, "--csv"
    ).out
    rows = list(csv.DictReader(io.StringIO(out)))

    assert [row["capacity_blocks"] for row in rows] == ["1", "2", "4", "5", "4", "8", "16"]
    assert {row["definition"] for row in rows} == {"tokens"}
    assert [row["hit_tokens"] for row in rows][-1] == "1536"


def test_one_of_a_thing_is_singular(hitrate, trace):
    trace.write_text(trace.read_text().partition("\n")[0])
    said = hitrate("simulate", trace, "--capacity-blocks", "1", "--last", "9").out

    assert "1 request, 2 blocks, 2 of them distinct\n" in said
    assert "tokens served / input tokens, of the last 1 request\n" in said
    assert "warning: vllm with 1 block: 1 request is longer than the whole cache" in said


def test_whole_numbers_stay_exact(hitrate, trace):
    found = hitrate("simulate", trace, "--capacity-blocks", "99999999999..100000000001", "--json").json

    assert [row["capacity_blocks"] for row in found["rows"]] == [99_999_999_999, 100_000_000_001]


def test_a_page_with_a_plot(hitrate, trace, tmp_path):
    page = tmp_path / "page.html"
    hitrate("simulate", trace, "--curve", "--capacity-blocks", "2,4,8", "--rules", "vllm,fifo", "--html", page)
    text = page.read_text()

    assert "Hit rate over the size of the cache" in text
    assert text.count("<path") >= 6
    assert "1  leaf-lru, tokens, every size" in text


def test_every_kernel_gives_the_same(hitrate, trace):
    asked = ("simulate", trace, "--capacity-blocks", "4,unlimited", "--rules", "vllm,leaf-lru,fifo", "--json")
    plain = hitrate(*asked, "--kernel", "python")

    assert hitrate(*asked).out == plain.out
    if find_spec("numba") is not None:
        assert hitrate(*asked, "--kernel", "fast").out == plain.out


def test_a_lifetime_and_a_vendors_rule(hitrate, trace):
    found = hitrate("simulate", trace, "--ttl", "2s,1h,none", "--rules", "vllm", "--json").json

    assert [(row["ttl_s"], row["hit_tokens"]) for row in found["rows"]] == [(2.0, 0), (3600.0, 1536), (None, 1536)]


def test_a_log_is_cut_into_blocks_and_its_tokens_are_said_to_be_estimates(hitrate, tmp_path):
    log = tmp_path / "calls.jsonl"
    system = {"role": "system", "content": "You answer questions about roses. " * 40}
    with log.open("w") as out:
        for turn in range(3):
            body = {"model": "m", "messages": [system, {"role": "user", "content": f"Question {turn}?"}]}
            out.write(json.dumps({"at": f"2026-11-01T12:0{turn}:00Z", "body": body}) + "\n")
    found = hitrate("simulate", log, "--block-size", 8, "--json").json

    assert (found["trace_requests"], found["block_size"]) == (3, 8)
    assert found["hit_rate"] == pytest.approx(0.65, abs=0.02)
    assert [one["what"] for one in found["records"]["remarks"]][-1] == (
        "lengths are estimates by the vocabulary o200k and a token for each message"
    )


def test_a_cluster_that_is_not_there_is_exit_code_3(hitrate, trace):
    pytest.importorskip("distributed")
    code, out, err = hitrate("simulate", trace, "--cluster", "tcp://127.0.0.1:1")

    assert (code, out) == (3, "")
    assert err == "error: no Dask scheduler answers at tcp://127.0.0.1:1: Connection refused\n"


def test_standard_input_is_read_as_often_as_needed(trace, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(trace.read_bytes())))
    assert run(["simulate", "-", "--last", "3", "--rules", "leaf-lru", "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["hit_tokens"] == 1800


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--capacity-blocks", "0"), "expected whole numbers above 0 with commas between, or a range like 8..512"),
        (("--capacity-blocks", "9..3"), "got '9..3'"),
        (("--capacity-blocks", "99999999999999999999999"), "a cache of 99,999,999,999,999,999,999,999 blocks is more"),
        (("--replicas", "999999999999"), "at most 10,000 replicas are replayed; got 999,999,999,999"),
        (("--replicas", "1..100000"), "at most 10,000 replicas are replayed; got 100,000"),
        (("--gib", "8"), "--gib needs --model-config"),
        (("--ttl", "soon"), "expected lifetimes like 5m,1h or none; got 'soon'"),
        (("--last", "0%"), "expected a share like 50% or a number of requests; got '0%'"),
        (("--replicas", "4", "--curve"), "--curve is of one cache: leave out --replicas"),
        (("--replicas", "4", "--policy", "nearest"), "routing policy 'nearest' is not known; use one of"),
        (("--kv-dtype", "fp8"), "--kv-dtype says how the cache of --model-config is kept"),
        (("--workers", "2", "--cluster", "tcp://127.0.0.1:1"), "--cluster has workers of its own: leave out --workers"),
        (("--workers", "0"), "0 is not in the range 1<=x<=1024"),
        (("--block-size", "100"), "--block-size 100 is no multiple of that"),
        (("--format", "mooncak"), "no trace or log format called 'mooncak'; did you mean 'mooncake'?"),
    ],
)
def test_what_is_refused_with_one_line(hitrate, trace, arguments, said):
    outcome = hitrate("simulate", trace, *arguments)

    assert outcome.code == 2
    assert said in outcome.err.splitlines()[0]


def test_a_model_config_that_does_not_say_enough(hitrate, trace, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(LLAMA_8B))
    outcome = hitrate("simulate", trace, "--gib", "8", "--model-config", config)

    assert outcome.code == 2
    assert outcome.err == f"error: {config}: neither `torch_dtype` nor `dtype` is given: name the cache type\n"
