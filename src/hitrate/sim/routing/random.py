"""Each request to any replica, whatever it holds: a session's next call finds its history 1 time in N."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hitrate.sim.routing.interface import ReplicaView, RoutingRequest


class RandomRouting:
    def __init__(self, *, seed: int = 0) -> None:
        self._seed = seed
        self.reset()

    def choose(self, request: RoutingRequest, replicas: Sequence[ReplicaView]) -> int:
        return self._random.randrange(len(replicas))

    def reset(self) -> None:
        self._random = Random(self._seed)


POLICY = RandomRouting
