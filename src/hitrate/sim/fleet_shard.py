"""Some replicas of a fleet, apart from the others: for policies that look at none, what one serves is its own affair.

Requests come one after another, so nothing is ever in flight. A policy that looks at anything else of a replica than
that is stopped by AttributeError, not answered wrongly.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence
from typing import cast

from hitrate.sim.capacity.interface import BlockCache, SteppedCache
from hitrate.sim.fleet_replay import FleetReplay
from hitrate.sim.policies.interface import BlockPolicy, BlockRequest, ReplicaView
from hitrate.sim.policies.registry import make_policy

UNSEEING = (
    "consistent-hash",
    "first-blocks",
    "power-of-two",
    "random",
    "round-robin",
    "session-affinity",
    "smg-prefix-hash",
)
"""Policies that look at no cache, and choose in much less time than it takes to serve."""


def is_unseeing(policy: str) -> bool:
    return policy.partition(":")[0] in UNSEEING


def fleet_shard(
    replicas: int, own: Collection[int], make_cache: Callable[[], BlockCache], policy: str, block_tokens: int, seed: int
) -> FleetReplay:
    """A fleet that routes all requests and serves those of its `own` replicas; the others serve nothing of theirs."""
    numbers = iter(range(replicas))

    def made() -> BlockCache:
        return make_cache() if next(numbers) in own else _Elsewhere()

    idle = cast(Sequence[ReplicaView], [_Idle(make_cache().capacity)] * replicas)
    return FleetReplay(replicas, made, _Unseeing(make_policy(policy, seed=seed), idle), block_tokens)


class _Idle:
    """All that is known of a replica without its cache."""

    in_flight = prefill_tokens = held_blocks = 0

    def __init__(self, capacity: int | None) -> None:
        self.capacity = capacity


class _Unseeing:
    """A policy before which replicas are hidden."""

    def __init__(self, policy: BlockPolicy, idle: Sequence[ReplicaView]) -> None:
        self._policy = policy
        self._idle = idle

    def choose(self, request: BlockRequest, replicas: Sequence[ReplicaView]) -> int:
        return self._policy.choose(request, self._idle)

    def reset(self) -> None:
        self._policy.reset()


class _Elsewhere(SteppedCache):
    """Of a replica that another shard replays."""

    capacity = None

    def serve(self, asked: array[int], input_tokens: int, now: float) -> int:
        return 0

    def peek(self, asked: array[int], input_tokens: int, now: float) -> int:
        raise AssertionError("nothing is known of a cache elsewhere")

    def check_integrity(self) -> None:
        pass
