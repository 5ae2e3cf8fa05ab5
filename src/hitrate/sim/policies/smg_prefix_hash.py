"""SMG's `prefix_hash`: the first 256 tokens on a ring, unless the replica found has more than its share of requests.

https://github.com/lightseekorg/smg, model_gateway/src/policies/prefix_hash.rs at 3adfd7d. Its share is `load_factor`
times the mean of requests in flight, with this one; beyond it the shortest queue within the share gets the request.
SMG's ring hashes with other functions, so which replica a prefix lands on differs, not how often one is hit.
"""

from __future__ import annotations

from collections.abc import Sequence

from hitrate.sim.policies.consistent_hash import ConsistentHash
from hitrate.sim.policies.interface import BlockRequest, ReplicaView


class SmgPrefixHash:
    needs_time = True

    def __init__(self, *, seed: int = 0, tokens: int = 256, load_factor: float = 1.25) -> None:
        self._tokens = tokens
        self._load_factor = load_factor
        self.reset()

    def reset(self) -> None:
        self._ring: ConsistentHash | None = None

    def choose(self, request: BlockRequest, replicas: Sequence[ReplicaView]) -> int:
        if self._ring is None:
            self._ring = ConsistentHash(blocks=request.blocks_of(self._tokens))
        chosen = self._ring.choose(request, replicas)
        queues = [replica.in_flight for replica in replicas]
        together = sum(queues)
        share = (together + 1) / len(queues) * self._load_factor
        if not together or queues[chosen] <= share:
            return chosen
        shortest = min(queues)
        return queues.index(shortest) if shortest <= share else chosen


POLICY = SmgPrefixHash
