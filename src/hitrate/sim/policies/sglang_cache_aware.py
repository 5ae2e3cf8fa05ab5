"""sglang-router's `cache_aware`: the best match in the router's own tree, or the shortest queue.

https://github.com/sgl-project/sglang, sgl-model-gateway/src/policies/cache_aware.rs and tree.rs; defaults are those of
the command line of sglang-router 0.3.2. Where queues are imbalanced, more than `abs` apart and the longest more than
`rel` times the shortest, the shortest gets the request. Else, where more than `cache` of the prompt is in the tree, the
replica that was the first to get the text of the last match; else again the shortest queue. The documentation says
"smallest tree" for this last case, as older gateways did: `below=smallest-tree`.

The tree is the router's, built from its choices: it does not know what an engine evicted. Each replica's part is cut to
`max_tree_size` characters every `evict_s` seconds, of which a token is taken to be four.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Literal

from hitrate.sim.policies.choosing import imbalanced, shortest_queue
from hitrate.sim.policies.interface import BlockRequest, ReplicaView
from hitrate.sim.policies.router_index import RouterIndex


class SglangCacheAware:
    needs_time = True

    def __init__(
        self,
        *,
        seed: int = 0,
        cache: float = 0.3,
        abs: int = 64,
        rel: float = 1.5,
        evict_s: float = 60,
        max_tree_size: int = 67_108_864,
        characters_per_token: float = 4,
        below: Literal["min-load", "smallest-tree"] = "min-load",
    ) -> None:
        self._cache = cache
        self._absolute = abs
        self._relative = rel
        self._evict_s = evict_s
        self._tree_tokens = max_tree_size / characters_per_token
        self._below = below
        self.reset()

    def reset(self) -> None:
        self._tree: RouterIndex | None = None
        self._evict_at = 0.0

    def choose(self, request: BlockRequest, replicas: Sequence[ReplicaView]) -> int:
        tree = self._tree
        if tree is None:
            tree = self._tree = RouterIndex(len(replicas), leaves_first=True)
            self._evict_at = request.at_s + self._evict_s
        # A trace without times is cut at every request: NaN is not before any moment.
        if not request.at_s < self._evict_at:
            self._evict(tree, request)
        if imbalanced(replicas, self._absolute, self._relative):
            chosen = shortest_queue(replicas)
        else:
            chosen = self._by_tree(tree, request, replicas)
        tree.insert(chosen, request.asked)
        return chosen

    def _by_tree(self, tree: RouterIndex, request: BlockRequest, replicas: Sequence[ReplicaView]) -> int:
        asked = request.asked
        matched = sum(1 for _ in takewhile(tree.first_holder.__contains__, asked))
        tokens = min(matched * request.block_tokens, request.input_tokens)
        if tokens > self._cache * request.input_tokens:
            return self._matched(tree, asked[matched - 1], replicas)
        if self._below == "smallest-tree":
            sizes = tree.sizes()
            return sizes.index(min(sizes))
        return shortest_queue(replicas)

    def _matched(self, tree: RouterIndex, last: int, replicas: Sequence[ReplicaView]) -> int:
        return tree.first_holder[last]

    def _evict(self, tree: RouterIndex, request: BlockRequest) -> None:
        self._evict_at = request.at_s + self._evict_s
        for replica in range(tree.replicas):
            tree.trim(replica, int(self._tree_tokens // request.block_tokens))


POLICY = SglangCacheAware
