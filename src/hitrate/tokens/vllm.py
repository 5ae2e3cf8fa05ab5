"""The token ids that a vLLM server really works with, and the blocks it keeps them in, for predictions that are exact.

Prompt: POST /tokenize renders chat messages and tools as /v1/chat/completions does. Reply: add `return_token_ids` to
the request, and `Reply.token_ids` has the generated ids. Blocks: `vllm:cache_config_info` among the metrics. Every
function here is an extra request: keep them off the path that is timed. Held against vLLM 0.32.0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hitrate.tokens.server import EngineServer

ENGINE = "vLLM"

_OF_A_PROMPT = (
    "model",
    "messages",
    "tools",
    "add_generation_prompt",
    "continue_final_message",
    "add_special_tokens",
    "chat_template",
    "chat_template_kwargs",
    "media_io_kwargs",
    "mm_processor_kwargs",
)
"""What a chat request and /tokenize have in common (vllm/entrypoints/serve/tokenize/protocol.py)."""
_FOR_THE_TEMPLATE = ("documents", "reasoning_effort")
"""Members of a chat request that /tokenize takes only as what they become: arguments of the template."""

_CACHE_CONFIG = re.compile(r"^vllm:cache_config_info\{(?P<labels>.*)\} ", re.MULTILINE)
_LABEL = re.compile(r'(?P<name>\w+)="(?P<value>(?:[^"\\]|\\.)*)"')


def prompt_token_ids(base_url: str, body: Mapping[str, Any], *, key: str | None = None) -> list[int]:
    """What `usage.prompt_tokens` of the same chat-completions body counts."""
    members = {name: body[name] for name in _OF_A_PROMPT if body.get(name) is not None}
    given = {name: body[name] for name in _FOR_THE_TEMPLATE if body.get(name) is not None}
    if "reasoning_effort" in given:
        given["enable_thinking"] = given["reasoning_effort"] != "none"
    if given:
        own = members.get("chat_template_kwargs", {})
        members["chat_template_kwargs"] = {**given, **own}
    return list(EngineServer(base_url, ENGINE, key).ask("POST", "/tokenize", members)["tokens"])


def text_token_ids(base_url: str, text: str, *, model: str | None, key: str | None = None) -> list[int]:
    """Of a text that goes on behind others: without a begin token."""
    members = {"model": model, "prompt": text, "add_special_tokens": False}
    return list(EngineServer(base_url, ENGINE, key).ask("POST", "/tokenize", members)["tokens"])


def block_settings(base_url: str, *, key: str | None = None) -> dict[str, int]:
    """`block_size` and `capacity_blocks`, named as `caches.block_chain.BlockChainCache` takes them.

    Without what the server does not tell; several engines behind one address (data parallel) tell no common capacity.
    """
    return read_block_settings(EngineServer(base_url, ENGINE, key).text("/metrics"))


def read_block_settings(metrics: str) -> dict[str, int]:
    """The same from the text of the metrics."""
    engines = [dict(_LABEL.findall(found["labels"])) for found in _CACHE_CONFIG.finditer(metrics)]
    sizes = {_count(labels.get("block_size")) for labels in engines}
    size = sizes.pop() if len(sizes) == 1 else None
    blocks = _count(engines[0].get("num_gpu_blocks")) if len(engines) == 1 else None
    found = {} if size is None else {"block_size": size}
    # One block is the null block, which holds no tokens.
    return found if blocks is None or blocks < 2 else {**found, "capacity_blocks": blocks - 1}


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and int(text) > 0 else None
