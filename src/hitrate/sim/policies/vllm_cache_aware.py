"""vllm-router's `cache_aware`: as `sglang_cache_aware`, but of all that have the whole match the shortest queue.

https://github.com/vllm-project/router, src/policies/cache_aware.rs; defaults and decisions of vllm-router 0.1.17. It
looks at token ids, which it has an engine render (`/v1/completions/render`, `/v1/chat/completions/render`). Where the
engines cannot, nothing ever matches, and what is left is the shortest queue: `no_render=1`.
"""

from __future__ import annotations

from collections.abc import Sequence

from hitrate.sim.policies.choosing import shortest_queue
from hitrate.sim.policies.interface import BlockRequest, ReplicaView
from hitrate.sim.policies.router_index import RouterIndex, bits
from hitrate.sim.policies.sglang_cache_aware import SglangCacheAware


class VllmCacheAware(SglangCacheAware):
    def __init__(
        self,
        *,
        seed: int = 0,
        cache: float = 0.3,
        abs: int = 64,
        rel: float = 1.5,
        evict_s: float = 120,
        max_tree_size: int = 33_554_432,
        characters_per_token: float = 4,
        no_render: int = 0,
    ) -> None:
        super().__init__(
            cache=cache,
            abs=abs,
            rel=rel,
            evict_s=evict_s,
            max_tree_size=max_tree_size,
            characters_per_token=characters_per_token,
        )
        self._renders = not no_render

    def choose(self, request: BlockRequest, replicas: Sequence[ReplicaView]) -> int:
        return super().choose(request, replicas) if self._renders else shortest_queue(replicas)

    def _matched(self, tree: RouterIndex, last: int, replicas: Sequence[ReplicaView]) -> int:
        return min(bits(tree.holders(last)), key=lambda replica: replicas[replica].in_flight)


POLICY = VllmCacheAware
