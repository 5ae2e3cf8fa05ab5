from __future__ import annotations

import json

import pytest
from exports import START, lines, openrouter, table
from log_files import opened, read

from hitrate.logs.answered import host_of

TABLE = {
    "generation_id": "gen-0", "created_at": "2026-11-01 12:00:00.000", "cost_total": "0.0043", "cost_web_search": "0",
    "cost_cache": "", "cost_file_processing": "0", "byok_usage_inference": "0", "tokens_prompt": "2300",
    "tokens_completion": "30", "tokens_reasoning": "0", "tokens_cached": "1280",
    "model_permaslug": "openai/gpt-5.2-20260901", "provider_name": "OpenAI", "variant": "standard",
    "cancelled": "false", "streamed": "true", "user": "", "finish_reason_raw": "stop",
    "finish_reason_normalized": "stop", "generation_time_ms": "2100", "time_to_first_token_ms": "400",
    "api_key_disabled": "false", "api_key_name": "shop", "app_name": "shop",
}  # fmt: skip


def test_a_generation(tmp_path):
    (call,), records = read(tmp_path, lines([{"data": openrouter(0, native_tokens_cached=1280)}]))
    assert (call.target, call.model, call.dialect) == ("openrouter", "openai/gpt-5.2", "openai-chat")
    assert (call.usage.prompt_tokens, call.usage.cached_tokens, call.usage.output_tokens) == (2300, 1280, 30)
    assert (call.usage.cached_source, call.raw_usage["cost"]) == ("native_tokens_cached", 0.0043)
    assert (call.timing.at, call.timing.total_s, call.timing.ttft_s) == (START, 0.4, None)
    assert (host_of(call), call.body, records.remarks) == ("OpenAI", b"", ())


def test_the_table_of_the_activity_page(tmp_path):
    log = opened(tmp_path, table([TABLE]))
    (call,) = log
    assert (log.format, call.model, host_of(call)) == ("openrouter", "openai/gpt-5.2-20260901", "OpenAI")
    assert (call.usage.prompt_tokens, call.usage.cached_tokens, call.raw_usage["cost"]) == (2300, 1280, 0.0043)
    assert (call.timing.at, call.timing.ttft_s) == (START, 0.4)


@pytest.mark.parametrize(
    "data",
    [
        lines([openrouter(0)]),
        json.dumps([openrouter(0)]).encode(),
        json.dumps({"data": openrouter(0)}, indent=2).encode(),
        json.dumps({"data": [openrouter(0)]}).encode(),
    ],
    ids=["bare", "array", "one answer", "a list"],
)
def test_the_files_it_comes_in(tmp_path, data):
    log = opened(tmp_path, data)
    assert [(log.format, call.usage.prompt_tokens, call.timing.at) for call in log] == [("openrouter", 2300, START)]


@pytest.mark.parametrize(
    ("members", "cached", "cost"),
    [
        ({"native_tokens_cached": None}, None, 0.0043),
        ({"is_byok": True}, 0, None),
        ({"total_cost": 0}, 0, None),
        ({"native_tokens_prompt": None}, 0, 0.0043),
    ],
)
def test_what_is_not_known_stays_so(tmp_path, members, cached, cost):
    (_, call), _ = read(tmp_path, lines([openrouter(0), openrouter(0, **members)]))
    assert (call.usage.cached_tokens, call.raw_usage.get("cost")) == (cached, cost)
    if "native_tokens_prompt" in members:
        assert call.usage.prompt_tokens is None  # tokens_prompt is another tokeniser's


def test_more_cached_than_prompt_tokens_stay_a_contradiction(tmp_path):
    (call,), _ = read(tmp_path, lines([openrouter(0, native_tokens_cached=2500)]))
    assert (call.usage.prompt_tokens, call.usage.cached_tokens, call.usage.hit_rate) == (2300, 2500, None)
    assert call.usage.accounting_fault


def test_sums_are_refused(tmp_path):
    row = {
        "date": "2026-11-01", "model": "openai/gpt-5.2", "endpoint_id": "e", "provider_name": "OpenAI", "usage": 1.2,
        "byok_usage_inference": 0, "requests": 41, "prompt_tokens": 90000, "completion_tokens": 1200,
        "reasoning_tokens": 0,
    }  # fmt: skip
    log = opened(tmp_path, json.dumps({"data": [row]}).encode())
    assert (list(log), log.format) == ([], "openrouter")
    assert [one.reason for one in log.records().skipped] == ["a sum over 41 requests, expected single generations"]
