"""llm-d's estimate of what engines hold, from where it sent prompts, with its weighted scorers.

https://github.com/llm-d/llm-d-inference-scheduler, prefix-cache-scorer; weights of llm-d-kv-cache's benchmarks (prefix
2, kv 1, queue 1), of the index the defaults: 31,250 blocks of 16 tokens a replica, and no more than the first 256 of a
prompt are looked at. The index is a flat LRU table, so of one prompt the first block goes first; and a replica's count
goes on over blocks that it does not have, as long as another has them. The score is blocks counted / blocks looked at.
Here blocks are the trace's, and as many of them as these tokens are. Of equal sums one is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hitrate.sim.policies.choosing import best_at_random
from hitrate.sim.policies.interface import BlockRequest, ReplicaView
from hitrate.sim.policies.llm_d_precise import free_shares, idle_shares
from hitrate.sim.policies.router_index import RouterIndex


class LlmDApproximate:
    needs_time = True

    def __init__(
        self,
        *,
        seed: int = 0,
        prefix: float = 2,
        kv: float = 1,
        queue: float = 1,
        blocks: int = 256,
        lru_blocks: int = 31_250,
        block_tokens: int = 16,
    ) -> None:
        self._seed = seed
        self._prefix = prefix
        self._kv = kv
        self._queue = queue
        self._looked_at_tokens = blocks * block_tokens
        self._kept_tokens = lru_blocks * block_tokens
        self.reset()

    def reset(self) -> None:
        self._random = Random(self._seed)
        self._index: RouterIndex | None = None

    def choose(self, request: BlockRequest, replicas: Sequence[ReplicaView]) -> int:
        if self._index is None:
            self._index = RouterIndex(len(replicas), leaves_first=False)
        looked_at = request.asked[: request.blocks_of(self._looked_at_tokens)]
        counts = self._index.counts(looked_at)
        chosen = best_at_random(
            self._random,
            [
                self._prefix * count / max(1, len(looked_at)) + self._kv * free + self._queue * idle
                for count, free, idle in zip(counts, free_shares(replicas), idle_shares(replicas), strict=True)
            ],
        )
        self._index.insert(chosen, looked_at)
        self._index.trim(chosen, request.blocks_of(self._kept_tokens))
        return chosen


POLICY = LlmDApproximate
