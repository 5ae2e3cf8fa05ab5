import msgspec
import pytest

from hitrate.core.model import Usage
from hitrate.targets.dialects.counts import token_count
from hitrate.targets.dialects.openai_usage import read_usage

OPENAI = {"prompt_tokens": 2006, "completion_tokens": 300, "total_tokens": 2306}
DETAILS = "usage.prompt_tokens_details.cached_tokens"


def figures(reply):
    """What was read without its sources, which `test_where_figures_come_from` checks."""
    found, fault = read_usage(reply)
    return msgspec.structs.replace(found, sources={}), fault


def usage(**counts):
    return Usage(**{"prompt_tokens": 2006, "output_tokens": 300, **counts})


@pytest.mark.parametrize(
    ("vendor", "reply", "expected"),
    [
        (
            "openai",
            {
                "usage": {
                    **OPENAI,
                    "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
                    "completion_tokens_details": {"reasoning_tokens": 128, "accepted_prediction_tokens": 0},
                }
            },
            usage(cached_tokens=1920, reasoning_tokens=128, cached_source=DETAILS),
        ),
        (
            "openai, nothing cached",
            {"usage": {**OPENAI, "prompt_tokens_details": {"cached_tokens": 0}}},
            usage(cached_tokens=0, cached_source=DETAILS),
        ),
        (
            "openai from GPT-5.6, with a write",
            {"usage": {**OPENAI, "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 1984}}},
            usage(cached_tokens=0, written_tokens=1984, cached_source=DETAILS),
        ),
        (
            "crusoe, doubles",
            {
                "usage": {
                    "prompt_tokens": 12.0,
                    "completion_tokens": 3.0,
                    "prompt_tokens_details": {"cached_tokens": 8.0},
                }
            },
            Usage(prompt_tokens=12, output_tokens=3, cached_tokens=8, cached_source=DETAILS),
        ),
        (
            "deepseek",
            {"usage": {**OPENAI, "prompt_cache_hit_tokens": 1984, "prompt_cache_miss_tokens": 22}},
            usage(cached_tokens=1984, cached_source="usage.prompt_cache_hit_tokens"),
        ),
        (
            "deepseek without a total",
            {"usage": {"completion_tokens": 300, "prompt_cache_hit_tokens": 1984, "prompt_cache_miss_tokens": 22}},
            usage(cached_tokens=1984, cached_source="usage.prompt_cache_hit_tokens"),
        ),
        (
            "deepseek, both spellings",
            {"usage": {**OPENAI, "prompt_tokens_details": {"cached_tokens": 1984}, "prompt_cache_hit_tokens": 1984}},
            usage(cached_tokens=1984, cached_source=DETAILS),
        ),
        (
            "moonshot",
            {"usage": {**OPENAI, "cached_tokens": 1792}},
            usage(cached_tokens=1792, cached_source="usage.cached_tokens"),
        ),
        (
            "mistral, top level",
            {"usage": {**OPENAI, "num_cached_tokens": 1000}},
            usage(cached_tokens=1000, cached_source="usage.num_cached_tokens"),
        ),
        (
            "mistral, singular details",
            {"usage": {**OPENAI, "prompt_token_details": {"cached_tokens": 1000}}},
            usage(cached_tokens=1000, cached_source="usage.prompt_token_details.cached_tokens"),
        ),
        (
            "mistral, null details but a count",
            {"usage": {**OPENAI, "prompt_tokens_details": None, "num_cached_tokens": 7}},
            usage(cached_tokens=7, cached_source="usage.num_cached_tokens"),
        ),
        (
            "minimax",
            {"usage": {**OPENAI, "cache_read_input_tokens": 512, "cache_creation_input_tokens": 64}},
            usage(cached_tokens=512, written_tokens=64, cached_source="usage.cache_read_input_tokens"),
        ),
        (
            "dashscope, explicit",
            {"usage": {**OPENAI, "prompt_tokens_details": {"cached_tokens": 0, "cache_creation_input_tokens": 1500}}},
            usage(cached_tokens=0, written_tokens=1500, cached_source=DETAILS),
        ),
        (
            "vllm without --enable-prompt-tokens-details",
            {"usage": {**OPENAI, "prompt_tokens_details": None}},
            usage(cached_source="null"),
        ),
        (
            "vllm, created tokens",
            {"usage": {**OPENAI, "prompt_tokens_details": {"cached_tokens": 1600, "created_cache_tokens": 400}}},
            usage(cached_tokens=1600, written_tokens=400, cached_source=DETAILS),
        ),
        ("ollama", {"usage": OPENAI}, usage()),
        (
            "details without the field",
            {"usage": {**OPENAI, "prompt_tokens_details": {"audio_tokens": 0}}},
            usage(),
        ),
        (
            "details with a null field",
            {"usage": {**OPENAI, "prompt_tokens_details": {"cached_tokens": None}}},
            usage(cached_source="null"),
        ),
        (
            "llama.cpp, usage and timings",
            {
                "usage": {**OPENAI, "prompt_tokens_details": {"cached_tokens": 2005}},
                "timings": {"cache_n": 2005, "prompt_n": 1, "predicted_n": 300},
            },
            usage(cached_tokens=2005, cached_source=DETAILS),
        ),
        (
            "llama.cpp, timings only",
            {"timings": {"cache_n": 2000, "prompt_n": 6, "predicted_n": 300}},
            usage(cached_tokens=2000, cached_source="timings.cache_n"),
        ),
        (
            "llama.cpp before cache_n: prompt_n alone is no total",
            {"timings": {"prompt_n": 6, "predicted_n": 300}},
            Usage(output_tokens=300),
        ),
        (
            "groq, x_groq only",
            {"x_groq": {"id": "r", "usage": {**OPENAI, "prompt_tokens_details": {"cached_tokens": 1024}}}},
            usage(cached_tokens=1024, cached_source="x_groq.usage.prompt_tokens_details.cached_tokens"),
        ),
        (
            "groq, two tiers",
            {"usage": OPENAI, "x_groq": {"usage": {"sram_cached_tokens": 24, "dram_cached_tokens": 1000}}},
            usage(
                cached_tokens=1024, cached_source="x_groq.usage.sram_cached_tokens + x_groq.usage.dram_cached_tokens"
            ),
        ),
        (
            "groq, an id and no usage",
            {"usage": OPENAI, "x_groq": {"id": "r"}},
            usage(),
        ),
        (
            "fireworks, perf_metrics as strings",
            {"usage": OPENAI, "perf_metrics": {"cached-prompt-tokens": "1920", "prompt-tokens": "2006"}},
            usage(cached_tokens=1920, cached_source="perf_metrics.cached-prompt-tokens"),
        ),
        (
            "xai: reasoning beside the completion",
            {
                "usage": {
                    "prompt_tokens": 2006,
                    "completion_tokens": 100,
                    "total_tokens": 2306,
                    "prompt_tokens_details": {"cached_tokens": 1920},
                    "completion_tokens_details": {"reasoning_tokens": 200},
                }
            },
            usage(cached_tokens=1920, reasoning_tokens=200, cached_source=DETAILS),
        ),
        (
            "more cached than prompt tokens is kept as reported",
            {"usage": {**OPENAI, "prompt_tokens_details": {"cached_tokens": 4328}}},
            usage(cached_tokens=4328, cached_source=DETAILS),
        ),
        ("no usage", {}, Usage()),
        ("null usage", {"usage": None}, Usage()),
        ("usage of another type", {"usage": [1, 2]}, Usage()),
        ("empty usage", {"usage": {}}, Usage()),
    ],
)
def test_read_usage(vendor, reply, expected):
    assert figures(reply) == (expected, None)


@pytest.mark.parametrize(
    ("reply", "sources"),
    [
        (
            {
                "usage": {
                    **OPENAI,
                    "prompt_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 2},
                    "completion_tokens_details": {"reasoning_tokens": 3},
                }
            },
            {
                "prompt_tokens": "usage.prompt_tokens",
                "cached_tokens": DETAILS,
                "written_tokens": "usage.prompt_tokens_details.cache_write_tokens",
                "output_tokens": "usage.completion_tokens",
                "reasoning_tokens": "usage.completion_tokens_details.reasoning_tokens",
            },
        ),
        (
            {"usage": {"prompt_cache_hit_tokens": 5, "prompt_cache_miss_tokens": 6}},
            {
                "prompt_tokens": "usage.prompt_cache_hit_tokens + usage.prompt_cache_miss_tokens",
                "cached_tokens": "usage.prompt_cache_hit_tokens",
            },
        ),
        (
            {"timings": {"cache_n": 5, "prompt_n": 6, "predicted_n": 7}},
            {
                "prompt_tokens": "timings.cache_n + timings.prompt_n",
                "cached_tokens": "timings.cache_n",
                "output_tokens": "timings.predicted_n",
            },
        ),
        (
            {
                "usage": {
                    "prompt_tokens": 4142,
                    "completion_tokens": 254,
                    "total_tokens": 8724,
                    "prompt_tokens_details": {"cached_tokens": 4328},
                }
            },
            {
                "prompt_tokens": f"usage.prompt_tokens + {DETAILS}",
                "cached_tokens": DETAILS,
                "output_tokens": "usage.completion_tokens",
            },
        ),
        ({"usage": {"prompt_tokens_details": None}}, {}),
    ],
)
def test_where_figures_come_from(reply, sources):
    found, _ = read_usage(reply)
    assert found.sources == sources
    assert set(sources) == {
        name for name in found.__struct_fields__ if name.endswith("_tokens") and getattr(found, name) is not None
    }


@pytest.mark.parametrize(
    ("counts", "expected", "fault"),
    [
        (
            {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": -5}},
            Usage(prompt_tokens=10, cached_source="null"),
            "usage.prompt_tokens_details.cached_tokens is '-5', not a token count",
        ),
        (
            {"prompt_tokens": 10, "cached_tokens": True},
            Usage(prompt_tokens=10, cached_source="null"),
            "usage.cached_tokens is 'True', not a token count",
        ),
        (
            {"prompt_tokens": "many", "cached_tokens": 3},
            Usage(cached_tokens=3, cached_source="usage.cached_tokens"),
            "usage.prompt_tokens is 'many', not a token count",
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 1.5},
            Usage(prompt_tokens=10),
            "usage.completion_tokens is '1.5', not a token count",
        ),
        (
            {"prompt_tokens": 1e30, "prompt_tokens_details": {"cached_tokens": 10**30}},
            Usage(cached_source="null"),
            "usage.prompt_tokens_details.cached_tokens is '1000000000000000000000000000000', not a token count",
        ),
        (
            {"prompt_tokens": 2**31 + 1, "cached_tokens": 2**31},
            Usage(cached_tokens=2**31, cached_source="usage.cached_tokens"),
            "usage.prompt_tokens is '2147483649', not a token count",
        ),
    ],
)
def test_counts_that_are_none_stay_unknown(counts, expected, fault):
    assert figures({"usage": counts}) == (expected, fault)


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (0, 0),
        (12, 12),
        (12.0, 12),
        ("12", 12),
        (None, None),
        (True, None),
        (False, None),
        (-1, None),
        (-1.0, None),
        (1.5, None),
        (float("nan"), None),
        (float("inf"), None),
        ("", None),
        ("-3", None),
        ("1.0", None),
        ("٣", None),
        ("9" * 40, None),
        ([3], None),
        ({}, None),
    ],
)
def test_token_count(value, count):
    assert token_count(value) == count


def test_more_cached_than_prompt_forms_no_rate():
    found, _ = read_usage({"usage": {**OPENAI, "prompt_tokens_details": {"cached_tokens": 4328}}})
    assert found.accounting_fault
    assert found.hit_rate is None
