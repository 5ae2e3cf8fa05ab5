"""One replica after the other, in the order in which requests arrive."""

from __future__ import annotations

from collections.abc import Sequence

from hitrate.sim.routing.interface import ReplicaView, RoutingRequest


class RoundRobinRouting:
    def __init__(self, *, seed: int = 0) -> None:
        self._next = 0

    def choose(self, request: RoutingRequest, replicas: Sequence[ReplicaView]) -> int:
        chosen = self._next % len(replicas)
        self._next = chosen + 1
        return chosen

    def reset(self) -> None:
        self._next = 0


POLICY = RoundRobinRouting
