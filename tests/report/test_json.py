"""Whole outputs, to the letter, and the schemas that describe them."""

from __future__ import annotations

import io
import json

import jsonschema
import msgspec
import pytest

from hitrate.core import results
from hitrate.core.listings import ModelEntry, ModelList
from hitrate.logs.store import RunList, RunSummary
from hitrate.report import kinds
from hitrate.report.json import describe, render, schema

TEST = """\
{
  "schema_version": 1,
  "kind": "test",
  "run_id": "r7k2m9",
  "started_at": "2026-11-29T12:00:00Z",
  "target": "practice",
  "model": "small-model",
  "expectation": {
    "rule_set": "vllm-2026-11",
    "basis": "exact",
    "granularity": null,
    "note": "block 16"
  },
  "turns": [
    {
      "run": "sequential",
      "session": 1,
      "turn": 1,
      "prompt_tokens": 3012,
      "cached_tokens": 0,
      "expected_cached_tokens": 0,
      "hit_rate": 0.0,
      "ttft_ms": 740.04,
      "state": "cold",
      "output_tokens": null,
      "total_ms": null,
      "prefill_ms": null,
      "note": null
    },
    {
      "run": "sequential",
      "session": 1,
      "turn": 2,
      "prompt_tokens": 3060,
      "cached_tokens": 3008,
      "expected_cached_tokens": 3008,
      "hit_rate": 0.9830065359477124,
      "ttft_ms": 36.04,
      "state": "hit",
      "output_tokens": null,
      "total_ms": null,
      "prefill_ms": null,
      "note": null
    },
    {
      "run": "sequential",
      "session": 1,
      "turn": 3,
      "prompt_tokens": 3108,
      "cached_tokens": 1504,
      "expected_cached_tokens": 3056,
      "hit_rate": 0.4839124839124839,
      "ttft_ms": 402.5,
      "state": "partial",
      "output_tokens": null,
      "total_ms": null,
      "prefill_ms": null,
      "note": null
    },
    {
      "run": "sequential",
      "session": 1,
      "turn": 4,
      "prompt_tokens": 3160,
      "cached_tokens": null,
      "expected_cached_tokens": 3104,
      "hit_rate": null,
      "ttft_ms": 37.25,
      "state": "not reported",
      "output_tokens": null,
      "total_ms": null,
      "prefill_ms": null,
      "note": null
    },
    {
      "run": "sequential",
      "session": 1,
      "turn": 5,
      "prompt_tokens": null,
      "cached_tokens": null,
      "expected_cached_tokens": null,
      "hit_rate": null,
      "ttft_ms": null,
      "state": "failed",
      "output_tokens": null,
      "total_ms": null,
      "prefill_ms": null,
      "note": "stream cut after 12 tokens"
    }
  ],
  "per_turn": [],
  "pad": [],
  "aggregate": {
    "prompt_tokens": 9180,
    "cached_tokens": 4512,
    "hit_rate": 0.4915032679738562,
    "not_reported": 1,
    "calls": 5,
    "failed": 1,
    "ttft_cold_p50_ms": 740.04,
    "ttft_warm_p50_ms": 36.04
  },
  "verdict": {
    "healthy": false,
    "routing_is_a_factor": null,
    "text": "Turn 3 found half of its history.",
    "cause": null,
    "replicas": null,
    "repeatable": null,
    "granularity": 16
  },
  "measurement": {
    "loop_lag_p50_ms": null,
    "loop_lag_p99_ms": 0.4,
    "loop_lag_max_ms": null,
    "late_first_reads": 0,
    "calls": 5,
    "achieved_concurrency": 1.0,
    "asked_concurrency": 1,
    "connections_opened": 0,
    "connect_p50_ms": null,
    "retries": 0,
    "waited_s": 0.0
  },
  "cost_usd": 0.00123,
  "warnings": [
    "one call of 5 failed"
  ]
}
"""

BENCH = """\
{
  "schema_version": 1,
  "kind": "bench",
  "run_id": "rb3nch",
  "started_at": "2026-11-29T12:00:00Z",
  "target": "practice",
  "model": "small-model",
  "expectation": {
    "rule_set": "vllm-2026-11",
    "basis": "estimated",
    "granularity": null,
    "note": "block 16"
  },
  "rows": [
    {
      "order": "stable-first",
      "shape": "opening",
      "first_ms": 740.0,
      "rest_p50_ms": 36.0,
      "rest_p95_ms": 38.9,
      "speedup_x": 20.556,
      "cold_p50_ms": 742.0,
      "cold_speedup": {
        "estimate": 20.6,
        "low": 19.1,
        "high": 22.0,
        "n": 4
      },
      "prompt_tokens": 3000,
      "cached_tokens": 2960,
      "hit_rate": 0.9866666666666667,
      "calls": [
        {
          "call": 1,
          "role": "first",
          "ttft_ms": 740.0,
          "prompt_tokens": 3000,
          "cached_tokens": 0,
          "expected_cached_tokens": 0,
          "state": "cold",
          "hit_rate": 0.0,
          "prefill_ms": null,
          "total_ms": null,
          "note": null
        },
        {
          "call": 2,
          "role": "warm-up",
          "ttft_ms": 735.0,
          "prompt_tokens": 3000,
          "cached_tokens": 0,
          "expected_cached_tokens": 2960,
          "state": "warm-up",
          "hit_rate": 0.0,
          "prefill_ms": null,
          "total_ms": null,
          "note": null
        },
        {
          "call": 3,
          "role": "warm",
          "ttft_ms": 36.0,
          "prompt_tokens": 3000,
          "cached_tokens": 2960,
          "expected_cached_tokens": 2960,
          "state": "hit",
          "hit_rate": 0.9866666666666667,
          "prefill_ms": null,
          "total_ms": null,
          "note": null
        },
        {
          "call": 3,
          "role": "cold",
          "ttft_ms": 742.0,
          "prompt_tokens": 3000,
          "cached_tokens": 0,
          "expected_cached_tokens": 0,
          "state": "cold",
          "hit_rate": 0.0,
          "prefill_ms": null,
          "total_ms": null,
          "note": null
        },
        {
          "call": 4,
          "role": "warm",
          "ttft_ms": 38.9,
          "prompt_tokens": 3000,
          "cached_tokens": 2960,
          "expected_cached_tokens": 2960,
          "state": "hit",
          "hit_rate": 0.9866666666666667,
          "prefill_ms": null,
          "total_ms": null,
          "note": null
        }
      ]
    },
    {
      "order": "variable-first",
      "shape": "opening",
      "first_ms": 744.0,
      "rest_p50_ms": 712.0,
      "rest_p95_ms": 730.0,
      "speedup_x": 1.045,
      "cold_p50_ms": null,
      "cold_speedup": null,
      "prompt_tokens": 3000,
      "cached_tokens": 0,
      "hit_rate": 0.0,
      "calls": [
        {
          "call": 1,
          "role": "first",
          "ttft_ms": 744.0,
          "prompt_tokens": 3000,
          "cached_tokens": 0,
          "expected_cached_tokens": 0,
          "state": "cold",
          "hit_rate": 0.0,
          "prefill_ms": null,
          "total_ms": null,
          "note": null
        },
        {
          "call": 2,
          "role": "warm",
          "ttft_ms": 712.0,
          "prompt_tokens": 3000,
          "cached_tokens": 0,
          "expected_cached_tokens": 0,
          "state": "cold",
          "hit_rate": 0.0,
          "prefill_ms": null,
          "total_ms": null,
          "note": null
        }
      ]
    }
  ],
  "usage_call": null,
  "measurement": {
    "loop_lag_p50_ms": null,
    "loop_lag_p99_ms": 0.4,
    "loop_lag_max_ms": null,
    "late_first_reads": 1,
    "calls": 7,
    "achieved_concurrency": 1.0,
    "asked_concurrency": 1,
    "connections_opened": 0,
    "connect_p50_ms": null,
    "retries": 2,
    "waited_s": 3.0
  },
  "cost_usd": null,
  "warnings": []
}
"""


MODELS = ModelList(target="practice", models=(ModelEntry(id="small-model", input_usd_per_mtok=0.3),))
RUNS = RunList(
    store="runs.sqlite3",
    runs=(
        RunSummary(
            id="r7k2m9",
            kind="test",
            target="practice",
            model=None,
            started_at="2026-11-29T12:00:00Z",
            command="hitrate test practice",
            calls=5,
            hit_rate=0.49,
            finished=True,
        ),
    ),
)


def written(value) -> str:
    out = io.StringIO()
    render(value, out)
    return out.getvalue()


@pytest.mark.parametrize(("name", "expected"), [("test_result", TEST), ("bench_result", BENCH)])
def test_whole_output(name, expected, request):
    assert written(request.getfixturevalue(name)) == expected


@pytest.mark.parametrize("kind", kinds.names())
def test_schemas_are_in_step_with_the_structs(kind):
    assert schema(kind) == describe(kind), f"write json.dumps(describe({kind!r}), indent=2) to schema/{kind}.json"
    jsonschema.Draft202012Validator.check_schema(schema(kind))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("test_result", "test"),
        ("many_sessions", "test"),
        ("hostile", "test"),
        ("bench_result", "bench"),
        ("comparison", "compare"),
    ],
)
def test_real_output_fits_its_schema(name, kind, request):
    jsonschema.validate(json.loads(written(request.getfixturevalue(name))), schema(kind))


def test_lists_fit_their_schemas():
    jsonschema.validate(json.loads(written(MODELS)), schema("models"))
    jsonschema.validate(json.loads(written(RUNS)), schema("runs"))


@pytest.mark.parametrize(
    "change",
    [
        {"hit_rate": 49.2},
        {"state": "lukewarm"},
        {"cached_tokens": "none"},
        {"surprise": 1},
    ],
)
def test_schemas_refuse_what_is_wrong(change, test_result):
    document = json.loads(written(test_result))
    document["turns"][0] |= change
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema("test"))


def test_schemas_refuse_a_missing_key(test_result):
    document = json.loads(written(test_result))
    del document["turns"][0]["cached_tokens"]
    with pytest.raises(jsonschema.ValidationError, match="'cached_tokens' is a required property"):
        jsonschema.validate(document, schema("test"))


def test_the_keys_that_others_build_on(test_result, bench_result):
    bench = json.loads(written(bench_result))
    assert next(iter(bench)) == "schema_version"
    assert {"schema_version", "target", "model", "rows", "measurement", "warnings"} <= bench.keys()
    row_keys = "order shape first_ms rest_p50_ms rest_p95_ms speedup_x prompt_tokens cached_tokens hit_rate calls"
    assert set(row_keys.split()) <= bench["rows"][0].keys()
    call_keys = "ttft_ms prompt_tokens cached_tokens expected_cached_tokens state"
    assert set(call_keys.split()) <= bench["rows"][0]["calls"][0].keys()
    assert "loop_lag_p99_ms" in bench["measurement"]
    test = json.loads(written(test_result))
    assert next(iter(test)) == "schema_version"
    turn_keys = "run session turn prompt_tokens cached_tokens expected_cached_tokens hit_rate ttft_ms state"
    assert set(turn_keys.split()) <= test["turns"][0].keys()
    assert {"prompt_tokens", "cached_tokens", "hit_rate", "not_reported"} <= test["aggregate"].keys()
    assert {"healthy", "routing_is_a_factor", "text"} <= test["verdict"].keys()


def test_it_can_be_read_back(test_result, bench_result):
    assert msgspec.json.decode(written(test_result), type=results.TestResult) == test_result
    assert msgspec.json.decode(written(bench_result), type=results.BenchResult) == bench_result


def test_hidden_characters_are_escaped_and_nothing_is_lost(hostile):
    text = written(hostile)
    assert not set("\x1b\u202e\u2028") & set(text)
    assert msgspec.json.decode(text, type=results.TestResult) == hostile


def test_a_lone_surrogate_is_written_as_an_escape():
    assert json.loads(written(results.BenchResult(target="\ud800 é")))["target"] == "\ud800 é"
