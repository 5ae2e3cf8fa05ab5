"""Ray Serve's `PrefixCacheAffinityRouter`: who was sent the longest prefix, of several the shortest queue.

https://github.com/ray-project/ray, python/ray/llm/_internal/serve/routing_policies/prefix_aware, with the defaults of
its code: never imbalanced, never evicted, and the smallest part of the tree where less than 10 % matches. With
`imbalanced_threshold` = K two replicas are drawn while queues are more than K apart, and the shorter queue taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from random import Random

from hitrate.sim.policies.choosing import two_at_random
from hitrate.sim.policies.interface import BlockRequest, ReplicaView
from hitrate.sim.policies.router_index import RouterIndex, bits


class RayPrefixAware:
    def __init__(self, *, seed: int = 0, imbalanced_threshold: float = inf, match_rate_threshold: float = 0.1) -> None:
        self._seed = seed
        self._apart = imbalanced_threshold
        self._match_rate = match_rate_threshold
        self.reset()

    def reset(self) -> None:
        self._random = Random(self._seed)
        self._tree: RouterIndex | None = None

    def choose(self, request: BlockRequest, replicas: Sequence[ReplicaView]) -> int:
        if self._tree is None:
            self._tree = RouterIndex(len(replicas), leaves_first=True)
        queues = [replica.in_flight for replica in replicas]
        candidates: Sequence[int]
        if max(queues) - min(queues) > self._apart:
            candidates = two_at_random(self._random, len(replicas))
        else:
            candidates = self._by_tree(self._tree, request)
        chosen = min(candidates, key=queues.__getitem__)
        self._tree.insert(chosen, request.asked)
        return chosen

    def _by_tree(self, tree: RouterIndex, request: BlockRequest) -> list[int]:
        matched, holders = tree.matched(request.asked)
        tokens = min(matched * request.block_tokens, request.input_tokens)
        if matched and tokens >= self._match_rate * request.input_tokens:
            return bits(holders)
        sizes = tree.sizes()
        smallest = min(sizes)
        return [replica for replica, size in enumerate(sizes) if size == smallest]


POLICY = RayPrefixAware
