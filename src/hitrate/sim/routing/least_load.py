"""To the replica with the fewest requests in flight, ties to the lowest index; the cache is not looked at."""

from __future__ import annotations

from collections.abc import Sequence

from hitrate.sim.routing.interface import ReplicaView, RoutingRequest


class LeastLoadRouting:
    def __init__(self, *, seed: int = 0) -> None:
        pass

    def choose(self, request: RoutingRequest, replicas: Sequence[ReplicaView]) -> int:
        loads = [replica.load for replica in replicas]
        return loads.index(min(loads))

    def reset(self) -> None:
        """Nothing to forget."""


POLICY = LeastLoadRouting
