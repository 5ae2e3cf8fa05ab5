from __future__ import annotations

from typing import Any

import pytest

from hitrate.caches.block_chain import BlockChainCache
from hitrate.caches.block_trie import BlockTrieCache
from hitrate.caches.breakpoints import Mark
from hitrate.caches.checkpoints import CheckpointCache
from hitrate.caches.exact import ExactCache
from hitrate.caches.marked import MarkedCache
from hitrate.caches.objects import ObjectCache
from hitrate.caches.prompts import PromptCache
from hitrate.caches.radix import RadixCache
from hitrate.caches.rules import RULE_SETS, describe, make_cache, minimum_tokens, rule_set
from hitrate.caches.slots import SlotCache
from hitrate.caches.units import UnitCache
from hitrate.errors import UsageError

SECOND_PROMPT_SERVED = {  # 3,000 tokens shared, 3,100 sent, nothing marked.
    "block-chain": (BlockChainCache, 2992, "block-chain (block 16)"),
    "longest-prefix": (RadixCache, 3000, "longest-prefix (page 1)"),
    "slots": (SlotCache, 3000, "slots (4 slots)"),
    "vllm-2026-11": (BlockChainCache, 2992, "vllm-2026-11 (block 16)"),
    "sglang-2026-11": (RadixCache, 3000, "sglang-2026-11 (page 1)"),
    "lmdeploy-2026-11": (BlockChainCache, 2944, "lmdeploy-2026-11 (block 64)"),
    "lmdeploy-pytorch-2026-11": (BlockTrieCache, 2944, "lmdeploy-pytorch-2026-11 (block 64)"),
    "tensorrt-llm-2026-11": (RadixCache, 3000, "tensorrt-llm-2026-11 (page 1)"),
    "tgi-2026-11": (RadixCache, 3000, "tgi-2026-11 (page 1, prompts at their end)"),
    "llama.cpp-2026-10": (SlotCache, 3000, "llama.cpp-2026-10 (4 slots, unified)"),
    "llama.cpp-swa-2026-10": (CheckpointCache, 3000, "llama.cpp-swa-2026-10 (4 slots, unified, window 1,024)"),
    "llama.cpp-recurrent-2026-10": (CheckpointCache, 2997, "llama.cpp-recurrent-2026-10 (4 slots, unified)"),
    "ollama-2026-11": (SlotCache, 3000, "ollama-2026-11 (1 slot)"),
    "mlx-lm-2026-11": (PromptCache, 3000, "mlx-lm-2026-11 (10 sequences)"),
    "openai-chat-before-gpt-5.6": (
        BlockChainCache,
        2944,
        "openai-chat-before-gpt-5.6 (as of 2026-11, block 128, at least 1,024 tokens)",
    ),
    "openai-2026-09": (
        ExactCache,
        0,
        "openai-2026-09 (at least 1,024 tokens, latest 80 breakpoints, 20 earlier messages)",
    ),
    "anthropic-2026-11": (MarkedCache, 0, "anthropic-2026-11 (at least 1,024 tokens, look-back 20)"),
    "bedrock-2026-11": (MarkedCache, 0, "bedrock-2026-11 (at least 1,024 tokens, look-back 20)"),
    "dashscope-explicit-2026-11": (MarkedCache, 0, "dashscope-explicit-2026-11 (at least 1,024 tokens, look-back 20)"),
    "minimax-explicit-2026-11": (MarkedCache, 0, "minimax-explicit-2026-11 (at least 512 tokens, look-back 20)"),
    "deepseek-2026-11": (UnitCache, 0, "deepseek-2026-11 (at least 64 tokens, written after 6 s)"),
    "moonshot-2026-11": (BlockChainCache, 2816, "moonshot-2026-11 (block 256, the same prompt whole)"),
    "gemini-explicit-2026-11": (ObjectCache, 0, "gemini-explicit-2026-11 (at least 1,024 tokens, 3600 s)"),
}


def test_every_rule_is_in_the_table_and_has_a_source() -> None:
    assert list(RULE_SETS) == list(SECOND_PROMPT_SERVED)
    assert all(rule.source and rule.note for rule in RULE_SETS.values())
    assert all(rule.date is None or rule.date[:2] == "20" for rule in RULE_SETS.values())


@pytest.mark.parametrize("name", SECOND_PROMPT_SERVED)
def test_a_rule_makes_its_cache_and_describes_itself(name: str) -> None:
    model, served, text = SECOND_PROMPT_SERVED[name]
    cache = make_cache(rule_set(name))
    assert type(cache) is model and describe(rule_set(name)) == text
    opening = list(range(3000))
    first = cache.begin([*opening, 1])
    assert first is not None
    cache.finish(first)
    assert cache.peek([*opening, *range(9000, 9100)]) == served


@pytest.mark.parametrize(
    ("name", "prompt_tokens", "served"),
    [
        ("openai-2026-09", 1100, 1100),
        ("anthropic-2026-11", 1100, 1100),
        ("anthropic-2026-11", 1000, 0),
        ("bedrock-2026-11", 1100, 1100),
        ("dashscope-explicit-2026-11", 1100, 1100),
        ("minimax-explicit-2026-11", 600, 600),
    ],
)
def test_a_marked_prompt_is_served_whole(name: str, prompt_tokens: int, served: int) -> None:
    cache: Any = make_cache(rule_set(name))
    opening = list(range(prompt_tokens))
    marked = {"boundaries": [prompt_tokens, prompt_tokens + 50], "marks": [Mark(0)]}
    cache.finish(cache.begin([*opening, *range(9000, 9050)], **marked))
    assert cache.peek([*opening, *range(8000, 8050)], **marked) == served


def test_which_rules_tokens_alone_do_not_suffice_for() -> None:
    assert [name for name, rule in RULE_SETS.items() if rule.needs_places] == [
        "openai-2026-09",
        "anthropic-2026-11",
        "bedrock-2026-11",
        "dashscope-explicit-2026-11",
        "minimax-explicit-2026-11",
        "gemini-explicit-2026-11",
    ]


@pytest.mark.parametrize(
    ("written", "asked", "served"),
    [  # What the source measured.
        (43, 43, 43),
        (201, 201, 201),
        (201, 250, 0),
        (361, 361, 361),
        (361, 400, 256),
        (834, 900, 768),
        (12035, 12100, 12032),
        (11250, 11272, 11008),
        (11272, 11294, 11264),
    ],
)
def test_moonshot_serves_chunks_and_the_very_same_prompt_whole(written: int, asked: int, served: int) -> None:
    cache = make_cache(rule_set("moonshot-2026-11"))
    first = cache.begin(range(written))
    assert first is not None and first.cached_tokens == 0
    cache.finish(first)
    second = cache.begin(range(asked))
    assert second is not None and second.cached_tokens == served
    cache.publish(second)
    assert cache.peek(range(asked)) == asked
    assert cache.peek(range(asked), namespace="another") == 0
    cache.check_integrity()


def test_text_generation_inference_finds_a_prompt_when_its_request_has_ended_and_no_reply() -> None:
    cache = make_cache(rule_set("tgi-2026-11"))
    first = cache.begin(range(100))
    assert first is not None
    cache.publish(first)
    assert cache.peek(range(200)) == 0
    cache.finish(first, range(100, 150))
    assert cache.peek(range(200)) == 100


def test_deepseek_serves_a_shared_opening_to_the_third_call_once_it_is_written() -> None:
    cache = make_cache(rule_set("deepseek-2026-11"))
    served = []
    for number, now in enumerate((0.0, 10.0, 15.0, 16.0)):
        lease = cache.begin([*range(3000), 9000 + number], now=now)
        assert lease is not None
        cache.finish(lease, now=now)
        served.append(lease.cached_tokens)
    assert served == [0, 0, 0, 3000]


@pytest.mark.parametrize(
    ("name", "model", "minimum"),
    [
        ("anthropic-2026-11", "claude-opus-4-5-20251101", 4096),
        ("anthropic-2026-11", "anthropic/claude-opus-4.5", 4096),
        ("anthropic-2026-11", "claude-opus-4-20250514", 1024),
        ("anthropic-2026-11", "claude-opus-4@20250514", 1024),
        ("anthropic-2026-11", "claude-opus-4-7", 2048),
        ("anthropic-2026-11", "claude-opus-4-9", None),
        ("anthropic-2026-11", "claude-opus-5", 512),
        ("anthropic-2026-11", "claude-haiku-4-5", 4096),
        ("anthropic-2026-11", "claude-3-5-haiku-20241022", 2048),
        ("anthropic-2026-11", "gpt-5.6", None),
        ("bedrock-2026-11", "eu.anthropic.claude-opus-4-7-20260416-v1:0", 4096),
        ("bedrock-2026-11", "anthropic.claude-sonnet-4-5-20250929-v1:0", 1024),
        ("gemini-explicit-2026-11", "gemini-2.5-pro", 4096),
        ("gemini-explicit-2026-11", "models/gemini-3-flash-preview", 1024),
        ("vllm-2026-11", "claude-opus-5", None),
    ],
)
def test_the_minimum_of_a_model(name: str, model: str, minimum: int | None) -> None:
    assert minimum_tokens(rule_set(name), model) == minimum


@pytest.mark.parametrize(
    ("name", "overrides", "text"),
    [
        ("vllm-2026-11", {"block_size": 32, "capacity_blocks": 8192}, "vllm-2026-11 (block 32, 8,192 blocks)"),
        ("sglang-2026-11", {"page_size": 64, "ttl_s": 300.0}, "sglang-2026-11 (page 64, 300 s)"),
        (
            "llama.cpp-2026-10",
            {"kv_unified": False, "context_per_slot": 4096},
            "llama.cpp-2026-10 (4 slots, context 4,096)",
        ),
        (
            "anthropic-2026-11",
            {"minimum_tokens": 4096, "look_back": 10},
            "anthropic-2026-11 (at least 4,096 tokens, look-back 10)",
        ),
        (
            "deepseek-2026-11",
            {"write_delay_s": 0.0, "interval_tokens": 2048, "ttl_s": 86400.0},
            "deepseek-2026-11 (at least 64 tokens, a unit every 2,048 tokens, 86400 s)",
        ),
    ],
)
def test_overrides_reach_the_cache_and_the_text(name: str, overrides: dict[str, Any], text: str) -> None:
    cache = make_cache(rule_set(name), **overrides)
    assert {key: getattr(cache, key) for key in overrides} == overrides
    assert describe(rule_set(name), **overrides) == text


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'vllm'; known: block-chain, longest-prefix, slots, vllm-2026-11"):
        rule_set("vllm")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"page_size": 4}, "cache rule vllm-2026-11: got an unexpected keyword argument 'page_size'"),
        ({"block_size": 0}, "cache rule vllm-2026-11: block_size is 0, it has to be at least 1"),
        ({"capacity_blocks": 0}, "cache rule vllm-2026-11: capacity_blocks is 0, it has to be at least 1"),
    ],
)
def test_a_wrong_override_names_rule_and_fault(overrides: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_cache(rule_set("vllm-2026-11"), **overrides)
    assert caught.value.message == message
