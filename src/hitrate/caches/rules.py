"""Cache rules by name: which model with which parameters stands for an engine or a vendor, since when, by what source.

A name with a date states what was documented or read from source at that date; `block-chain`, `longest-prefix` and
`slots` are the plain models. Predictions print `describe(rule)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from hitrate.caches.block_chain import BlockChainCache
from hitrate.caches.interface import PrefixCache
from hitrate.caches.radix import RadixCache
from hitrate.caches.slots import SlotCache
from hitrate.errors import UsageError

_MODELS: dict[str, Callable[..., PrefixCache]] = {
    "block chain": BlockChainCache,
    "radix": RadixCache,
    "slots": SlotCache,
}


class RuleSet(Struct, frozen=True, kw_only=True):
    """`parameters` are keyword arguments of the model's class; `date` is None for a plain model."""

    name: str
    date: str | None
    model: str
    parameters: Mapping[str, Any]
    source: str
    note: str = ""


_RULE_SETS = (
    RuleSet(
        name="block-chain",
        date=None,
        model="block chain",
        parameters={"block_size": 16},
        source="hitrate.caches.block_chain",
        note="Whole blocks, found by a key over all before them. The practice server's default.",
    ),
    RuleSet(
        name="longest-prefix",
        date=None,
        model="radix",
        parameters={"page_size": 1},
        source="hitrate.caches.radix",
        note="Every token of the longest common prefix but the prompt's last.",
    ),
    RuleSet(
        name="slots",
        date=None,
        model="slots",
        parameters={"slots": 4},
        source="hitrate.caches.slots",
        note="One sequence a slot, with a host store behind.",
    ),
    RuleSet(
        name="vllm-2026-11",
        date="2026-11",
        model="block chain",
        parameters={"block_size": 16},
        source="https://github.com/vllm-project/vllm vllm/v1/core/{block_pool,kv_cache_manager}.py, 0.33",
        note="Full attention. Another --block-size, and larger blocks of hybrid models, are an override.",
    ),
    RuleSet(
        name="sglang-2026-11",
        date="2026-11",
        model="radix",
        parameters={"page_size": 1},
        source="https://github.com/sgl-project/sglang python/sglang/srt/mem_cache/radix_cache.py, 0.5.23",
        note="Some attention kernels force larger pages (64, 128): an override. The host tier is not modelled.",
    ),
    RuleSet(
        name="llama.cpp-2026-10",
        date="2026-10",
        model="slots",
        parameters={"slots": 4, "kv_unified": True},
        source="https://github.com/ggml-org/llama.cpp tools/server/{server-context,server-task}.cpp",
        note="llama-server's defaults: 4 slots that share one pool, host store of 8,192 MiB. With an explicit "
        "--parallel the slots divide the context instead: override kv_unified. Not for sliding-window models.",
    ),
    RuleSet(
        name="openai-chat-before-gpt-5.6",
        date="2026-11",
        model="block chain",
        parameters={"block_size": 128, "minimum_tokens": 1024},
        source="https://developers.openai.com/api/docs/guides/prompt-caching",
        note="Credited from 1,024 tokens on in steps of 128. The lifetime varies (minutes to an hour idle, or a day): "
        "override ttl_s. The routing by prompt_cache_key is not part of the rule.",
    ),
)

RULE_SETS: Mapping[str, RuleSet] = {rule.name: rule for rule in _RULE_SETS}


def rule_set(name: str) -> RuleSet:
    """Raises UsageError that lists the known names."""
    try:
        return RULE_SETS[name]
    except KeyError:
        raise UsageError(f"no cache rule is called {name!r}; known: {', '.join(RULE_SETS)}") from None


def make_cache(rule: RuleSet, **overrides: Any) -> PrefixCache:
    """A new cache under `rule`; `overrides` replace or add parameters, such as a capacity.

    Raises UsageError that names the rule for a parameter its model does not have or a value it refuses.
    """
    try:
        return _MODELS[rule.model](**{**rule.parameters, **overrides})
    except (TypeError, ValueError) as error:
        text = str(error).replace(f"{_MODELS[rule.model].__name__}.__init__() ", "")
        raise UsageError(f"cache rule {rule.name}: {text}") from None


def describe(rule: RuleSet, **overrides: Any) -> str:
    """The rule's name with what its numbers depend on, e.g. "vllm-2026-11 (block 16)"."""
    values = {**rule.parameters, **overrides}
    parts = [words.format(values[key]) for key, words in _WORDS.items() if values.get(key)]
    return f"{rule.name} ({', '.join(parts)})"


_WORDS = {
    "block_size": "block {}",
    "page_size": "page {}",
    "slots": "{} slots",
    "minimum_tokens": "at least {:,} tokens",
    "context_per_slot": "context {:,}",
    "kv_unified": "unified",
    "cache_reuse": "reuse {}",
    "capacity_blocks": "{:,} blocks",
    "capacity_tokens": "{:,} tokens",
    "ttl_s": "{:g} s",
}
