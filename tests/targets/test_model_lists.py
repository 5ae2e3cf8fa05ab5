import json

import pytest

from hitrate.core.money import Price
from hitrate.targets.models import Model, nearest_ids, parse_models


def parse(entry):
    (model,) = parse_models(json.dumps({"object": "list", "data": [{"id": "m", **entry}]}).encode())
    return model


def price(*amounts, source):
    names = ("input_usd_per_mtok", "cached_usd_per_mtok", "written_usd_per_mtok", "output_usd_per_mtok")
    return Price(**dict(zip(names, amounts, strict=True)), source=source)


UNKNOWN = ": per token or per million cannot be told"


@pytest.mark.parametrize(
    ("vendor", "entry", "expected"),
    [
        (
            "crusoe",
            {"pricing": {"prompt": "0.0000003", "completion": "0.0000012", "input_cache_reads": "0.000000006"}},
            price(0.30, 0.006, None, 1.20, source="pricing.prompt"),
        ),
        (
            "crusoe, numbers",
            {"pricing": {"prompt": 3e-07, "completion": 1.2e-06, "input_cache_reads": 6e-09}},
            price(0.30, 0.006, None, 1.20, source="pricing.prompt"),
        ),
        (
            "openrouter",
            {
                "pricing": {
                    "prompt": "0.000003",
                    "completion": "0.000015",
                    "input_cache_read": "0.0000003",
                    "input_cache_write": "0.00000375",
                    "image": "0.0048",
                }
            },
            price(3.0, 0.3, 3.75, 15.0, source="pricing.prompt"),
        ),
        (
            "dollar signs",
            {"pricing": {"prompt": "$0.000001", "completion": "$0.000004", "input_cache_reads": "$0.0000001"}},
            price(1.0, 0.1, None, 4.0, source="pricing.prompt"),
        ),
        (
            "free",
            {"pricing": {"prompt": "0", "completion": "0"}},
            price(0.0, None, None, 0.0, source="pricing.prompt"),
        ),
        (
            "openrouter, price varies",
            {"pricing": {"prompt": "-1", "completion": "-1"}},
            price(None, None, None, None, source="pricing.prompt"),
        ),
        (
            "together",
            {"pricing": {"input": 0.3, "output": 1.2, "cachedInput": 0.06, "hourly": 0, "base": 0}},
            price(0.3, 0.06, None, 1.2, source="pricing.input"),
        ),
        (
            "baseten",
            {"cost": {"input": 0.6, "output": 2.2, "cache_read": 0.012, "cache_write": 0.6}},
            price(0.6, 0.012, 0.6, 2.2, source="cost.input"),
        ),
        (
            "xai",
            {
                "prompt_text_token_price": 30000,
                "cached_prompt_text_token_price": 7500,
                "completion_text_token_price": 150000,
            },
            price(3.0, 0.75, None, 15.0, source="prompt_text_token_price"),
        ),
        (
            "xai, the other spelling",
            {
                "prompt_text_token_price": 2000,
                "cached_prompt_token_price": 500,
                "completion_text_token_price": 5000,
            },
            price(0.2, 0.05, None, 0.5, source="prompt_text_token_price"),
        ),
        (
            "per-token spelling, per-million numbers",
            {"pricing": {"prompt": "0.3", "completion": "1.2", "input_cache_reads": "0.006"}},
            Price(source="pricing.prompt" + UNKNOWN),
        ),
        (
            "per-million spelling, per-token numbers",
            {"pricing": {"input": 3e-07, "output": 1.2e-06}},
            Price(source="pricing.input" + UNKNOWN),
        ),
        (
            "not numbers",
            {"pricing": {"prompt": None, "completion": True, "input_cache_read": "n/a"}},
            price(None, None, None, None, source="pricing.prompt"),
        ),
        ("fireworks", {"supports_chat": True}, Price()),
        ("a price nobody documents", {"input_token_price_per_m": 2800}, Price()),
        ("pricing of another kind", {"pricing": "free"}, Price()),
    ],
)
def test_prices(vendor, entry, expected):
    assert parse(entry).price == expected


@pytest.mark.parametrize(
    ("entry", "tokens"),
    [
        ({"context_length": 131072}, 131072),
        ({"context_window": 8192.0}, 8192),
        ({"max_model_len": 4096}, 4096),
        ({"max_context_length": 32768}, 32768),
        ({"meta": {"n_ctx_train": 131072, "n_ctx": 4096}}, 4096),
        ({"context_length": None, "top_provider": {"context_length": 200000}}, 200000),
        ({"context_length": 0}, None),
        ({"context_length": True}, None),
        ({"context_length": "128k"}, None),
        ({}, None),
    ],
)
def test_context(entry, tokens):
    assert parse(entry).context_tokens == tokens


@pytest.mark.parametrize(
    ("body", "ids"),
    [
        ('{"object": "list", "data": [{"id": "a"}, {"id": "b"}]}', ["a", "b"]),
        ('{"models": [{"id": "a"}]}', ["a"]),
        ('{"models": [{"name": "llama3:8b", "model": "llama3:8b"}]}', ["llama3:8b"]),
        ('{"models": [{"name": "x"}], "data": [{"id": "y"}]}', ["y"]),
        ('[{"id": "a"}, "b"]', ["a", "b"]),
        ('{"data": [{"id": ""}, {}, 7, null, {"id": 3, "name": "c"}]}', ["c"]),
        ('{"data": []}', []),
    ],
)
def test_list_shapes(body, ids):
    assert [model.id for model in parse_models(body.encode())] == ids


def test_owner():
    assert parse({"owned_by": "zai"}) == Model(id="m", owned_by="zai")


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", "Expecting value"),
        (b"<html>", "Expecting value"),
        (b"{}", "no model list: expected"),
        (b'{"data": {"id": "a"}}', "no model list: expected"),
        (b"7", "no model list: found int"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_bodies_that_are_no_list(body, fault):
    with pytest.raises(ValueError, match=fault):
        parse_models(body)


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("GLM-5.2", ["zai/GLM-5.2", "zai/GLM-5.2-Flash"]),
        ("z-ai/glm-5.2", ["zai/GLM-5.2", "zai/GLM-5.2-Flash"]),
        ("gpt-oss-12b", ["openai/gpt-oss-120b"]),
        ("nothing-alike-at-all", []),
    ],
)
def test_nearest_ids(wrong, nearest):
    known = ["openai/gpt-oss-120b", "zai/GLM-5.2", "zai/GLM-5.2-Flash", "meta-llama/Llama-3.3-70B-Instruct"]
    assert nearest_ids(wrong, known) == nearest


@pytest.mark.parametrize(
    ("entry", "model_id"),
    [
        ({"name": "models/gemini-3-flash", "displayName": "Flash"}, "gemini-3-flash"),
        ({"id": "models/gemini-3-flash", "owned_by": "google"}, "gemini-3-flash"),
        ({"id": "models/llama", "owned_by": "vllm"}, "models/llama"),
    ],
)
def test_resource_names_of_google_are_listed_as_ids(entry, model_id):
    assert [model.id for model in parse_models(json.dumps({"models": [entry]}).encode())] == [model_id]
