"""A hash of the first blocks says where: what a proxy in front of engines does that knows nothing of routing.

Loads are not looked at. The first block alone may be the same system prompt in every request; two are the default.
"""

from __future__ import annotations

from collections.abc import Sequence

from hitrate.sim.policies.interface import BlockRequest, ReplicaView


class FirstBlocks:
    def __init__(self, *, seed: int = 0, blocks: int = 2) -> None:
        self._blocks = blocks

    def choose(self, request: BlockRequest, replicas: Sequence[ReplicaView]) -> int:
        # Hashes of integers do not depend on the process, as those of strings do.
        return hash(tuple(request.asked[: self._blocks])) % len(replicas)

    def reset(self) -> None:
        """Nothing to forget."""


POLICY = FirstBlocks
