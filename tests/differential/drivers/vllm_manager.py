"""Runs inside vLLM's own environment and puts requests through its real `KVCacheManager`, on the CPU.

Standard input holds one JSON value a line:

    {"block_size": 16, "blocks": 40}      a new manager with so many usable blocks
    ["begin", 1, [ids], salt, adapter]    answered with the cached tokens, or null when the request has to wait
    ["begin keys", 1, tokens, [keys]]     the same for a prompt whose block hashes are given as whole numbers
    ["finish", 1, [ids]]  ["abort", 1]  ["reset"]
    {"hash": [ids], "block_size": 4, "salt": "a", "adapter": ["name", "path"]}     answered with the block hashes

Standard output has one JSON value for each "begin" and "hash". The driver does what vLLM's scheduler does for a request
that is admitted alone and computed in one step: look up, allocate the prompt, then one slot for each token generated
but the last. A reply for which no block is free ends there; the scheduler would preempt instead.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
from vllm.lora.request import LoRARequest
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256_cbor
from vllm.v1.core.kv_cache_manager import KVCacheManager
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.request import Request

LONGEST = 1 << 20
ADAPTERS: dict[str, int] = {}


def manager(block_size: int, blocks: int) -> KVCacheManager:
    # One block more: the pool sets its first one aside as the null block.
    layer = FullAttentionSpec(block_size=block_size, num_kv_heads=1, head_size=1, dtype=torch.float32)
    config = KVCacheConfig(blocks + 1, [], [KVCacheGroupSpec(["layer"], layer)])
    return KVCacheManager(config, LONGEST, scheduler_block_size=block_size, hash_block_size=block_size)


def adapter_request(name: str, path: str) -> LoRARequest:
    return LoRARequest(name, ADAPTERS.setdefault(name, len(ADAPTERS) + 1), path)


def request(number: int, tokens: list[int], hasher: Any, salt: str | None, adapter: LoRARequest | None) -> Request:
    sampling = SamplingParams(max_tokens=LONGEST)
    return Request(str(number), tokens, sampling, None, lora_request=adapter, cache_salt=salt, block_hasher=hasher)


def keys_as_hashes(keys: list[int], block_size: int) -> Any:
    """The hasher of a request whose block hashes are known; only full blocks have one."""

    def hasher(one: Request) -> list[bytes]:
        full = one.num_tokens // block_size
        return [key.to_bytes(32, "big") for key in keys[len(one.block_hashes) : full]]

    return hasher


class Driver:
    def __init__(self, block_size: int, blocks: int) -> None:
        self.block_size = block_size
        self.manager = manager(block_size, blocks)
        self.hasher = get_request_block_hasher(block_size, sha256_cbor)
        self.running: dict[int, Request] = {}

    def begin(self, number: int, tokens: list[int], salt: str | None, adapter: str | None) -> int | None:
        lora = None if adapter is None else adapter_request(adapter, f"/adapters/{adapter}")
        return self._admit(number, request(number, tokens, self.hasher, salt, lora))

    def begin_keys(self, number: int, tokens: int, keys: list[int]) -> int | None:
        return self._admit(number, request(number, [0] * tokens, keys_as_hashes(keys, self.block_size), None, None))

    def _admit(self, number: int, one: Request) -> int | None:
        computed, cached_tokens, _ = self.manager.get_computed_blocks(one)
        if self.manager.allocate_slots(one, one.num_tokens - cached_tokens, cached_tokens, computed) is None:
            return None
        one.num_computed_tokens = one.num_tokens
        self.running[number] = one
        return cached_tokens

    def finish(self, number: int, reply: list[int]) -> None:
        one = self.running.pop(number, None)
        if one is None:
            return
        for token in reply[:-1]:
            one.append_output_token_ids(token)
            if self.manager.allocate_slots(one, 1) is None:
                break
            one.num_computed_tokens += 1
        self.manager.free(one)

    def abort(self, number: int) -> None:
        self.finish(number, [])

    def reset(self) -> None:
        for number in list(self.running):
            self.abort(number)
        assert self.manager.reset_prefix_cache()


def block_hashes(asked: dict[str, Any]) -> list[str]:
    adapter = adapter_request(*asked["adapter"]) if asked.get("adapter") else None
    hasher = get_request_block_hasher(asked["block_size"], sha256_cbor)
    return [one.hex() for one in request(0, asked["hash"], hasher, asked.get("salt"), adapter).block_hashes]


def main() -> None:
    init_none_hash(sha256_cbor)
    driver = Driver(16, 1)
    for line in sys.stdin:
        asked = json.loads(line)
        if isinstance(asked, dict):
            if "hash" in asked:
                print(json.dumps(block_hashes(asked)))
            else:
                driver = Driver(asked["block_size"], asked["blocks"])
            continue
        verb, *arguments = asked
        answer = getattr(driver, verb.replace(" ", "_"))(*arguments)
        if verb.startswith("begin"):
            print(json.dumps(answer))


if __name__ == "__main__":
    main()
