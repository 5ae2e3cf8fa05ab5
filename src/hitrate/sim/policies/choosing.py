"""What several policies need to choose among replicas: no policy itself."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hitrate.sim.policies.interface import ReplicaView


def shortest_queue(replicas: Sequence[ReplicaView]) -> int:
    """With the fewest requests in flight; of several the first."""
    queues = [replica.in_flight for replica in replicas]
    return queues.index(min(queues))


def imbalanced(replicas: Sequence[ReplicaView], absolute: int, relative: float) -> bool:
    """By requests in flight: more than `absolute` apart, and the longest queue more than `relative` times the
    shortest."""
    queues = [replica.in_flight for replica in replicas]
    longest, shortest = max(queues), min(queues)
    return longest - shortest > absolute and longest > relative * shortest


def two_at_random(random: Random, replicas: int) -> tuple[int, int]:
    """Two different ones; the same twice where there is one."""
    first = random.randrange(replicas)
    if replicas == 1:
        return first, first
    second = random.randrange(replicas - 1)
    return first, second + (second >= first)


def best_at_random(random: Random, scores: Sequence[float]) -> int:
    """Of those with the highest score any one."""
    best = max(scores)
    candidates = [index for index, score in enumerate(scores) if score == best]
    return candidates[0] if len(candidates) == 1 else random.choice(candidates)
