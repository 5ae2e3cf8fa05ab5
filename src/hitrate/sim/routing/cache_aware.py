"""To the replica that holds the longest prefix of the request; ties to the least load, then to the lowest index.

`imbalance` = K gives up the longest prefix while the busiest replica has more than K requests more than the idlest,
and sends to the idlest; 0, the default, never does. Routers in the field differ here: sglang-router's default is 64
(and 1.5 times as many), Ray Serve's never rebalances.
"""

from __future__ import annotations

from collections.abc import Sequence

from hitrate.sim.routing.interface import ReplicaView, RoutingRequest


class CacheAwareRouting:
    def __init__(self, *, seed: int = 0, imbalance: int = 0) -> None:
        self._imbalance = imbalance

    def choose(self, request: RoutingRequest, replicas: Sequence[ReplicaView]) -> int:
        loads = [replica.load for replica in replicas]
        if self._imbalance and max(loads) - min(loads) > self._imbalance:
            return loads.index(min(loads))
        served = [replica.peek(request) for replica in replicas]
        return min(range(len(replicas)), key=lambda index: (-served[index], loads[index], index))

    def reset(self) -> None:
        """Nothing to forget: all it knows, it asks the replicas."""


POLICY = CacheAwareRouting
