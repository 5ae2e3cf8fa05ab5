from __future__ import annotations

from typing import Any

import pytest

from hitrate.caches.block_chain import BlockChainCache
from hitrate.caches.radix import RadixCache
from hitrate.caches.rules import RULE_SETS, describe, make_cache, rule_set
from hitrate.caches.slots import SlotCache
from hitrate.errors import UsageError

SECOND_PROMPT_SERVED = {  # 3,000 tokens shared, 3,100 sent.
    "block-chain": (BlockChainCache, 2992, "block-chain (block 16)"),
    "longest-prefix": (RadixCache, 3000, "longest-prefix (page 1)"),
    "slots": (SlotCache, 3000, "slots (4 slots)"),
    "vllm-2026-11": (BlockChainCache, 2992, "vllm-2026-11 (block 16)"),
    "sglang-2026-11": (RadixCache, 3000, "sglang-2026-11 (page 1)"),
    "llama.cpp-2026-10": (SlotCache, 3000, "llama.cpp-2026-10 (4 slots, unified)"),
    "openai-chat-before-gpt-5.6": (
        BlockChainCache,
        2944,
        "openai-chat-before-gpt-5.6 (block 128, at least 1,024 tokens)",
    ),
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
    ("name", "overrides", "text"),
    [
        ("vllm-2026-11", {"block_size": 32, "capacity_blocks": 8192}, "vllm-2026-11 (block 32, 8,192 blocks)"),
        ("sglang-2026-11", {"page_size": 64, "ttl_s": 300.0}, "sglang-2026-11 (page 64, 300 s)"),
        (
            "llama.cpp-2026-10",
            {"kv_unified": False, "context_per_slot": 4096},
            "llama.cpp-2026-10 (4 slots, context 4,096)",
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
