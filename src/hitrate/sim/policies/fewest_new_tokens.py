"""The fewest tokens to compute, with a price on work that waits: what routers with a cost function come down to.

The cost is the request's tokens that the replica would have to compute, and `load_penalty` times those it still has
to compute for others. Where requests are replayed one after another nothing waits; then the penalty is on the tokens
it has computed so far, above the idlest. Engines tell what they hold. Of equal costs the first.
"""

from __future__ import annotations

from collections.abc import Sequence

from hitrate.sim.policies.interface import BlockRequest, ReplicaView


class FewestNewTokens:
    def __init__(self, *, seed: int = 0, load_penalty: float = 0.035) -> None:
        self._penalty = load_penalty

    def choose(self, request: BlockRequest, replicas: Sequence[ReplicaView]) -> int:
        costs = [self._penalty * replica.backlog - replica.peek(request) for replica in replicas]
        return costs.index(min(costs))

    def reset(self) -> None:
        """Nothing to forget."""


POLICY = FewestNewTokens
