"""llm-d's precise profile: a weighted sum of what engines hold of the prompt, how full they are and how busy.

https://github.com/llm-d/llm-d-inference-scheduler, scorers precise-prefix-cache (utils.go), kv-cache-utilization and
active-request with the weights of its benchmarks (llm-d-kv-cache, benchmarking/37-capacity: prefix 2, kv 1, queue 1).
Engines tell what they hold by events, so the prefix score is the leading blocks in the engine's cache; scores of those
with any are spread over 0..1, from the shortest to the longest. Of equal sums one is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hitrate.sim.policies.choosing import best_at_random
from hitrate.sim.policies.interface import BlockRequest, ReplicaView


class LlmDPrecise:
    needs_time = True

    def __init__(self, *, seed: int = 0, prefix: float = 2, kv: float = 1, queue: float = 1) -> None:
        self._seed = seed
        self._prefix = prefix
        self._kv = kv
        self._queue = queue
        self.reset()

    def reset(self) -> None:
        self._random = Random(self._seed)

    def choose(self, request: BlockRequest, replicas: Sequence[ReplicaView]) -> int:
        matches = spread([replica.peek(request) for replica in replicas])
        return best_at_random(
            self._random,
            [
                self._prefix * match + self._kv * free + self._queue * idle
                for match, free, idle in zip(matches, free_shares(replicas), idle_shares(replicas), strict=True)
            ],
        )


def spread(matches: Sequence[int]) -> list[float]:
    """0..1 from the shortest to the longest match; no match is 0, and matches that are all equal are 1."""
    some = [match for match in matches if match]
    if not some:
        return [0.0] * len(matches)
    shortest, longest = min(some), max(some)
    if shortest == longest:
        return [1.0 if match else 0.0 for match in matches]
    return [(match - shortest) / (longest - shortest) if match else 0.0 for match in matches]


def free_shares(replicas: Sequence[ReplicaView]) -> list[float]:
    """Of each cache, what no request in flight holds."""
    return [
        1.0 if replica.capacity is None else max(0.0, 1 - replica.held_blocks / max(1, replica.capacity))
        for replica in replicas
    ]


def idle_shares(replicas: Sequence[ReplicaView]) -> list[float]:
    """1 for an idle replica, 0 for the busiest."""
    queues = [replica.in_flight for replica in replicas]
    longest = max(queues)
    return [(longest - queue) / longest if longest else 1.0 for queue in queues]


POLICY = LlmDPrecise
