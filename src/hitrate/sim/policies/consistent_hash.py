"""vllm-router's `consistent_hash`: a ring of 160 virtual nodes a replica, and a key on it for each request.

https://github.com/vllm-project/router, src/policies/consistent_hash.rs and hash_key.rs. The key is the session's
(`x-session-id`), and where there is none the whole prompt: then only equal prompts meet. `blocks=K` takes the first K
blocks for the key instead, of every request. Loads are not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

from hitrate.sim.policies.hash_ring import VIRTUAL_NODES, HashRing
from hitrate.sim.policies.interface import BlockRequest, ReplicaView


class ConsistentHash:
    def __init__(self, *, seed: int = 0, blocks: int = 0, virtual_nodes: int = VIRTUAL_NODES) -> None:
        self._blocks = blocks
        self._virtual_nodes = virtual_nodes
        self.needs_sessions = not blocks
        self.reset()

    def reset(self) -> None:
        self._ring: HashRing | None = None
        self._found: dict[str, int] = {}

    def choose(self, request: BlockRequest, replicas: Sequence[ReplicaView]) -> int:
        if self._ring is None:
            self._ring = HashRing([f"replica-{number}" for number in range(len(replicas))], self._virtual_nodes)
        key = self._key(request)
        if key not in self._found:
            self._found[key] = self._ring.find(key)
        return self._found[key]

    def _key(self, request: BlockRequest) -> str:
        if self._blocks:
            return f"blocks:{last_of(request.asked, self._blocks)}"
        if request.affinity is not None:
            return f"header:x-session-id:{request.affinity}"
        return f"request:{last_of(request.asked, len(request.asked))}"


def last_of(asked: Sequence[int], blocks: int) -> int:
    """The last of the first so many blocks, which stands for all of them; -1 for a request without any."""
    return asked[min(blocks, len(asked)) - 1] if asked else -1


POLICY = ConsistentHash
