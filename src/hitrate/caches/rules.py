"""Cache rules by name: which model with which parameters stands for an engine or a vendor, since when, by what source.

A name with a date states what was documented or read from source at that date; `block-chain`, `longest-prefix` and
`slots` are the plain models. Predictions print `describe(rule)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from msgspec import Struct

from hitrate.caches.interface import PrefixCache
from hitrate.caches.marked import FIVE_MINUTES_S
from hitrate.caches.objects import ONE_HOUR_S
from hitrate.errors import UsageError

_MODELS = {
    "block chain": "block_chain.BlockChainCache",
    "block trie": "block_trie.BlockTrieCache",
    "radix": "radix.RadixCache",
    "slots": "slots.SlotCache",
    "checkpoints": "checkpoints.CheckpointCache",
    "prompts": "prompts.PromptCache",
    "marked": "marked.MarkedCache",
    "exact": "exact.ExactCache",
    "units": "units.UnitCache",
    "objects": "objects.ObjectCache",
}
"""Module and class; most who read a rule make no cache by it."""


class RuleSet(Struct, frozen=True, kw_only=True):
    """`parameters` are keyword arguments of the model's class; `date` is None for a plain model.

    `minimum_by_model` are the vendor's minimums that differ from the one in `parameters`, or confirm it, by a part of
    the model's id; see `minimum_tokens`.
    """

    name: str
    date: str | None
    model: str
    parameters: Mapping[str, Any]
    source: str
    note: str = ""
    minimum_by_model: Mapping[str, int] = {}
    found_while_computed: bool = False
    """Whether calls that come while a prompt is being computed find it already, not only from its first token on."""

    @property
    def needs_places(self) -> bool:
        """Tokens alone tell the model nothing: it wants the ends of blocks, the marks, or the name of an object."""
        return self.model in ("marked", "exact", "objects")


_CLAUDE_MINIMUM = {
    **dict.fromkeys(("opus-5", "opus-5-5", "sonnet-5-5", "fable-5", "fable-5-1", "mythos-5", "mythos-5-1"), 512),
    **dict.fromkeys(("sonnet-4", "sonnet-4-5", "sonnet-4-6", "sonnet-5", "opus-4", "opus-4-1", "opus-4-8"), 1024),
    **dict.fromkeys(("opus-4-7", "mythos-preview", "haiku-3-5", "3-5-haiku"), 2048),
    **dict.fromkeys(("opus-4-5", "opus-4-6", "haiku-4-5"), 4096),
}
"""Anthropic's page of October 2026. A file of its own of July 2026 (github.com/anthropics/skills, claude-api) still had
4,096 for Opus 4.7 and 4.8 and 2,048 for Sonnet 4.6 and Fable 5; the litellm table of October agrees with the page."""

_BEDROCK_CLAUDE_MINIMUM = {
    **dict.fromkeys(("opus-5",), 512),
    **dict.fromkeys(("3-7-sonnet", "sonnet-4", "sonnet-4-5", "sonnet-4-6", "sonnet-5", "opus-4-8"), 1024),
    **dict.fromkeys(("opus-4-5", "opus-4-6", "opus-4-7", "haiku-4-5"), 4096),
}
"""As listed by https://docs.litellm.ai/docs/completion/prompt_caching (October 2026); AWS keeps a table of its own."""

_GEMINI_MINIMUM = {"gemini-2-5-flash": 1024, "gemini-3-flash": 1024, "gemini-2-5-pro": 4096, "gemini-3-pro": 4096}


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
        note="Full attention. Another --block-size, and larger blocks of hybrid models, are an override. A block is "
        "found from the moment it is scheduled, before it is computed: calls sent at once find each other's prompts.",
        found_while_computed=True,
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
        name="lmdeploy-2026-11",
        date="2026-11",
        model="block chain",
        parameters={"block_size": 64},
        source="https://github.com/InternLM/lmdeploy lmdeploy/messages.py (TurbomindEngineConfig), 0.18",
        note="The TurboMind engine, which LMDeploy takes where it can. Off by default: --enable-prefix-caching. Not "
        "held against the engine, which is compiled for GPUs: whole blocks of prompts and replies "
        "(cache_generation=auto) and LRU eviction are documented, the treatment of a prompt's last token is taken to "
        "be vLLM's. With cache_prompt=all parts of blocks are found, too: not modelled.",
    ),
    RuleSet(
        name="lmdeploy-pytorch-2026-11",
        date="2026-11",
        model="block trie",
        parameters={"block_size": 64, "ahead_tokens": 16},
        source="https://github.com/InternLM/lmdeploy lmdeploy/pytorch/paging, 0.18",
        note="The PyTorch engine (--backend pytorch). Off by default: --enable-prefix-caching. A reply's blocks are "
        "found only once it has asked for a further block. The engine stamps blocks with whole seconds: which of those "
        "used within one second goes first is chance there, and the order of use here. Not for state-space models.",
        found_while_computed=True,
    ),
    RuleSet(
        name="tensorrt-llm-2026-11",
        date="2026-11",
        model="radix",
        parameters={"page_size": 1},
        source="https://github.com/NVIDIA/TensorRT-LLM docs/source/features/kvcache.md, "
        "cpp/tensorrt_llm/batch_manager/kvCacheManager.cpp",
        note="Blocks, of which partly matching ones are reused too (enable_partial_reuse, on by default): every token "
        "of the longest common prefix but the prompt's last. Without it: block-chain with the engine's block size. "
        "Read from source, not held against the engine, which needs a GPU. A partly matching last block that nobody "
        "uses is taken over, not copied, so that a prompt sent again after one that parts from it in that block finds "
        "less; that, eviction by priority and the host tier are not modelled.",
    ),
    RuleSet(
        name="tgi-2026-11",
        date="2026-11",
        model="radix",
        parameters={"page_size": 1, "prompts_at_end": True},
        source="https://github.com/huggingface/text-generation-inference backends/v3/src/radix.rs",
        note="With flashinfer; flashdecoding has pages of 256 tokens, ipex of 64: override page_size. Stored are "
        "prompts without replies, once their requests end. Read from source, not held against the engine, which "
        "reports no cached tokens; it frees a part of a leaf where the model frees the whole.",
    ),
    RuleSet(
        name="llama.cpp-2026-10",
        date="2026-10",
        model="slots",
        parameters={"slots": 4, "kv_unified": True},
        source="https://github.com/ggml-org/llama.cpp tools/server/{server-context,server-task}.cpp",
        note="llama-server's defaults: 4 slots that share one pool, host store of 8,192 MiB. With an explicit "
        "--parallel the slots divide the context instead: override kv_unified. Not for sliding-window, hybrid and "
        "recurrent models, which have rules of their own.",
    ),
    RuleSet(
        name="llama.cpp-swa-2026-10",
        date="2026-10",
        model="checkpoints",
        parameters={"slots": 4, "kv_unified": True, "window": 1024},
        source="https://github.com/ggml-org/llama.cpp tools/server/server-context.cpp, src/llama-kv-cache{,-iswa}.cpp",
        note="Models with sliding-window layers. The window is the model's, attention.sliding_window of its file; "
        "1,024 is that of most Gemma 3: override window. Then checkpoints, checkpoint_min_step, full_window "
        "(--swa-full), batch and micro_batch, where they are not llama-server's defaults of 32, 8,192, off, 2,048 "
        "and 512.",
    ),
    RuleSet(
        name="llama.cpp-recurrent-2026-10",
        date="2026-10",
        model="checkpoints",
        parameters={"slots": 4, "kv_unified": True},
        source="https://github.com/ggml-org/llama.cpp tools/server/server-context.cpp, src/llama-memory-recurrent.cpp",
        note="Recurrent and hybrid models (Mamba, RWKV, LFM2, Granite 4, Qwen3-Next and others); run was Mamba. "
        "Settings as of llama.cpp-swa-2026-10, but no window.",
    ),
    RuleSet(
        name="ollama-2026-11",
        date="2026-11",
        model="slots",
        parameters={"slots": 1},
        source="https://github.com/ollama/ollama llm/llama_server.go, docs/faq.mdx",
        note="Starts llama.cpp's server with as many slots as OLLAMA_NUM_PARALLEL says, 1 by default, each with the "
        "model's num_ctx: override slots. All is gone when the model is unloaded, after five idle minutes. Not for "
        "models that its own MLX runner serves, nor for sliding-window ones. Nothing is reported that it could be held "
        "against.",
    ),
    RuleSet(
        name="mlx-lm-2026-11",
        date="2026-11",
        model="prompts",
        parameters={"sequences": 10},
        source="https://github.com/ml-explore/mlx-lm mlx_lm/{server,models/cache}.py, 0.32.2",
        note="mlx_lm.server's defaults. Models whose state cannot be cut (rotating windows, state space): override "
        "trims=false. --prompt-cache-bytes is not modelled.",
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
    RuleSet(
        name="openai-2026-09",
        date="2026-09",
        model="exact",
        parameters={"minimum_tokens": 1024, "latest_breakpoints": 80, "earlier_messages": 20},
        source="https://developers.openai.com/api/docs/guides/prompt-caching (September 2026); openai 3.57.0",
        note="GPT-5.6 and later. The sources differ on where a request looks: the reference says the latest 80 "
        "breakpoints, the guide the first 2 and latest 50 marked ones and 20 earlier messages. Applied are the 80 and "
        "the 20. The lifetime is a minimum, 30 min or 12 h.",
    ),
    RuleSet(
        name="anthropic-2026-11",
        date="2026-11",
        model="marked",
        parameters={"minimum_tokens": 1024, "look_back": 20},
        source="https://platform.claude.com/docs/en/build-with-claude/prompt-caching",
        note="The minimum depends on the model (512 to 4,096) and the sources disagree: see minimum_by_model. The "
        "look-back counts the marked block itself. What changes the key besides the text (thinking, effort, images, "
        "tool_choice) belongs into the namespace.",
        minimum_by_model=_CLAUDE_MINIMUM,
    ),
    RuleSet(
        name="bedrock-2026-11",
        date="2026-11",
        model="marked",
        parameters={"minimum_tokens": 1024, "look_back": 20},
        source="https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html",
        note="Claude with cachePoint blocks; AWS says approximately 20 blocks. Only Claude looks back: for Nova set "
        "look_back=1. Implicit caching is not modelled.",
        minimum_by_model=_BEDROCK_CLAUDE_MINIMUM,
    ),
    RuleSet(
        name="dashscope-explicit-2026-11",
        date="2026-11",
        model="marked",
        parameters={
            "minimum_tokens": 1024,
            "look_back": 20,
            "ttls_s": (FIVE_MINUTES_S,),
            "refuses_more_marks": False,
            "readable_at_end": True,
        },
        source="https://www.alibabacloud.com/help/en/model-studio/context-cache",
        note="Of more than four markers the last four count. The entry is made when the reply has ended. Qwen4 has one "
        "hour, too: override ttls_s. The implicit cache of unmarked requests is not modelled.",
    ),
    RuleSet(
        name="minimax-explicit-2026-11",
        date="2026-11",
        model="marked",
        parameters={
            "minimum_tokens": 512,
            "look_back": 20,
            "ttls_s": (FIVE_MINUTES_S,),
            "writes_every_block": True,
        },
        source="https://platform.minimaxi.com/docs/api-reference/anthropic-api-compatible-cache",
        note="The page's example finds block 24 when only block 30 was marked, so every block before a mark counts as "
        "written. 512 tokens are documented for the passive cache, which is not modelled.",
    ),
    RuleSet(
        name="deepseek-2026-11",
        date="2026-11",
        model="units",
        parameters={"minimum_tokens": 64, "write_delay_s": 6.0},
        source="https://api-docs.deepseek.com/guides/kv_cache",
        note="The page says that writing takes seconds; 6 s is what a third party measured. The minimum is from the "
        "announcement of August 2024. Units at fixed intervals exist, at a distance that is not published: override "
        "interval_tokens. The lifetime, hours to days, is left open.",
    ),
    RuleSet(
        name="moonshot-2026-11",
        date="2026-11",
        model="block chain",
        parameters={"block_size": 256, "whole_prompts": True},
        source="https://github.com/Leechael/pi-provider-kimi-code docs/caching.md, 4e2a2b8",
        note="Measured by a third party on Kimi's coding endpoint; Moonshot publishes no rule. Prompts that go on are "
        "served in chunks of 256 tokens, the very same prompt whole at any length. Entries lived for 5 minutes and "
        "were gone after 30: override ttl_s. Whether replies are stored was not measured and is taken to be so.",
    ),
    RuleSet(
        name="gemini-explicit-2026-11",
        date="2026-11",
        model="objects",
        parameters={"minimum_tokens": 1024, "default_ttl_s": ONE_HOUR_S},
        source="https://ai.google.dev/gemini-api/docs/caching",
        note="The minimum depends on the model: see minimum_by_model; the Vertex page says 2,048 for all. The implicit "
        "cache is not modelled.",
        minimum_by_model=_GEMINI_MINIMUM,
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
    module, _, name = _MODELS[rule.model].partition(".")
    model: Callable[..., PrefixCache] = getattr(import_module(f"hitrate.caches.{module}"), name)
    try:
        return model(**{**rule.parameters, **overrides})
    except (TypeError, ValueError) as error:
        text = str(error).replace(f"{name}.__init__() ", "")
        raise UsageError(f"cache rule {rule.name}: {text}") from None


def minimum_tokens(rule: RuleSet, model: str) -> int | None:
    """The minimum that `rule` knows for the model with this id, however it is spelled; None when it knows none.

    "claude-opus-4-5-20251101", "anthropic.claude-opus-4-5-20251101-v1:0" and "anthropic/claude-opus-4.5" are one model,
    "claude-opus-4-9" is not "opus-4".
    """
    spelled = re.sub(r"[._]", "-", model.lower())
    known = [part for part in rule.minimum_by_model if re.search(rf"{part}(?!-?\d{{1,2}}(?!\d))", spelled)]
    return rule.minimum_by_model[max(known, key=len)] if known else None


def describe(rule: RuleSet, **overrides: Any) -> str:
    """The rule's name with what its numbers depend on, e.g. "vllm-2026-11 (block 16)".

    The date is a part where the name does not hold it.
    """
    values = {**rule.parameters, **overrides}
    parts = [] if rule.date is None or rule.date in rule.name else [f"as of {rule.date}"]
    parts += [_in_words(key, values[key]) for key in _WORDS if values.get(key)]
    return f"{rule.name} ({', '.join(parts)})"


def _in_words(key: str, value: Any) -> str:
    words = _WORDS[key].format(value)
    return words.removesuffix("s") if value == 1 and key in _COUNTED else words


_COUNTED = ("slots", "sequences", "checkpoints", "capacity_blocks", "capacity_tokens")
_WORDS = {
    "block_size": "block {}",
    "whole_prompts": "the same prompt whole",
    "page_size": "page {}",
    "prompts_at_end": "prompts at their end",
    "slots": "{} slots",
    "sequences": "{} sequences",
    "minimum_tokens": "at least {:,} tokens",
    "look_back": "look-back {}",
    "latest_breakpoints": "latest {} breakpoints",
    "earlier_messages": "{} earlier messages",
    "interval_tokens": "a unit every {:,} tokens",
    "write_delay_s": "written after {:g} s",
    "default_ttl_s": "{:g} s",
    "context_per_slot": "context {:,}",
    "kv_unified": "unified",
    "cache_reuse": "reuse {}",
    "window": "window {:,}",
    "checkpoints": "{} checkpoints",
    "micro_batch": "micro-batch {:,}",
    "capacity_blocks": "{:,} blocks",
    "capacity_tokens": "{:,} tokens",
    "ttl_s": "{:g} s",
}
