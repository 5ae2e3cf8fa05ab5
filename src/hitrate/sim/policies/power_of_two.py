"""Of two replicas drawn at random the one with fewer requests in flight; the first drawn when they are equal.

As in sglang-router and vllm-router (`power_of_two`), after Mitzenmacher, The power of two choices in randomized load
balancing (IEEE TPDS 12(10), 2001).
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hitrate.sim.policies.choosing import two_at_random
from hitrate.sim.policies.interface import BlockRequest, ReplicaView


class PowerOfTwo:
    needs_time = True

    def __init__(self, *, seed: int = 0) -> None:
        self._seed = seed
        self.reset()

    def reset(self) -> None:
        self._random = Random(self._seed)

    def choose(self, request: BlockRequest, replicas: Sequence[ReplicaView]) -> int:
        first, second = two_at_random(self._random, len(replicas))
        return first if replicas[first].in_flight <= replicas[second].in_flight else second


POLICY = PowerOfTwo
