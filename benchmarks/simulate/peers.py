"""Runs in a peer's own environment: `peers.py libcachesim|vllm BLOCKS CAPACITY FILE`, prints blocks and CPU seconds.

FILE is a trace in Mooncake's form, plain or gzip; its first requests, of so many blocks, are taken. What is timed
is the replay alone, without reading the file.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any


def requests_of(file: str, blocks: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    with gzip.open(file) if file.endswith(".gz") else Path(file).open("rb") as lines:
        for line in lines:
            if blocks <= 0:
                break
            found.append(json.loads(line))
            blocks -= len(found[-1]["hash_ids"])
    return found


def libcachesim(requests: list[dict[str, Any]], capacity: int) -> int:
    import libcachesim as simulator

    cache = simulator.LRU(capacity)
    asked = simulator.Request()
    asked.obj_size = 1
    hits = 0
    for request in requests:
        for block in request["hash_ids"]:
            asked.obj_id = block
            hits += cache.get(asked)
    return hits


def rest_of(hashes: list[bytes], request: Any) -> list[bytes]:
    return hashes[len(request.block_hashes) :]


def vllm(requests: list[dict[str, Any]], capacity: int) -> int:
    import torch
    from vllm.sampling_params import SamplingParams
    from vllm.v1.core.kv_cache_manager import KVCacheManager
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
    from vllm.v1.request import Request

    size = 512
    layer = FullAttentionSpec(block_size=size, num_kv_heads=1, head_size=1, dtype=torch.float32)
    config = KVCacheConfig(capacity + 1, [], [KVCacheGroupSpec(["layer"], layer)])
    manager = KVCacheManager(config, 1 << 20, scheduler_block_size=size, hash_block_size=size)
    sampling = SamplingParams(max_tokens=1)
    served = 0
    for number, request in enumerate(requests):
        hashes = [block.to_bytes(32, "big") for block in request["hash_ids"][: request["input_length"] // size]]
        tokens = [0] * request["input_length"]
        one = Request(str(number), tokens, sampling, None, block_hasher=partial(rest_of, hashes))
        computed, cached, _ = manager.get_computed_blocks(one)
        if manager.allocate_slots(one, one.num_tokens - cached, cached, computed) is None:
            continue
        one.num_computed_tokens = one.num_tokens
        served += cached
        manager.free(one)
    return served


def main() -> None:
    peer, blocks, capacity, file = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    requests = requests_of(file, blocks)
    replay = {"libcachesim": libcachesim, "vllm": vllm}[peer]
    replay(requests[:1], capacity)  # what it imports
    start = time.process_time()
    hits = replay(requests, capacity)
    spent = time.process_time() - start
    asked = sum(len(request["hash_ids"]) for request in requests)
    print(json.dumps({"requests": len(requests), "blocks": asked, "hits": hits, "cpu_s": spent}))


if __name__ == "__main__":
    main()
