"""One point of many replicas shared out by replica. Each shard reads the whole trace and serves its own replicas alone.

That is exact: what is counted adds up, in whole numbers, and the sums are those of all replicas together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from msgspec import Struct
from msgspec.structs import replace

from hitrate.core.trace import Trace
from hitrate.sim.capacity.billed import Billed
from hitrate.sim.capacity.by_session import SessionTally
from hitrate.sim.capacity.definitions import DEFINITIONS
from hitrate.sim.fleet_replay import FleetTotal, ReplicaTotal
from hitrate.sim.fleet_shard import fleet_shard, is_unseeing
from hitrate.simulating.replaying import Replayed, Running, TraceSums, make_cache, run
from hitrate.simulating.wanted import Point


class Shard(Struct, frozen=True):
    """Of a fleet the replicas with the numbers `number`, `number + of`, `number + 2 * of` and so on."""

    number: int
    of: int

    def replicas(self, point: Point) -> range:
        return range(self.number, point.replicas, self.of)


class Share(Struct, frozen=True, kw_only=True):
    """What came of a shard. Picklable."""

    hits: float
    counted: float
    """Of the whole trace, as in every shard."""
    never_fit: int | None
    sessions: SessionTally
    billed: tuple[Billed, ...]
    replicas: tuple[ReplicaTotal, ...]
    """Its own ones."""


def can_be_shared_out(point: Point) -> bool:
    """Shares of blocks, which some definitions count, would add up in another order, so in another last digit."""
    whole_numbers = DEFINITIONS[point.definition].unit != "requests"
    unseeing = point.policy is not None and is_unseeing(point.policy)
    return point.replicas > 1 and point.timing is None and point.store is None and whole_numbers and unseeing


def replay_shard(trace: Trace, point: Point, first: int, shard: Shard) -> tuple[TraceSums, Share]:
    """Errors as of `replaying.replay`."""
    assert can_be_shared_out(point) and point.policy is not None
    own = shard.replicas(point)
    block_tokens = trace.facts.block_tokens
    fleet = fleet_shard(
        point.replicas, own, lambda: make_cache(point, block_tokens), point.policy, block_tokens, point.seed
    )
    running = Running(point, trace, first, fleet)
    sums = run(trace, [running], first)
    refused = [getattr(fleet.replicas[number].cache, "never_fit", None) for number in own]
    totals = fleet.total().replicas
    return sums, Share(
        hits=running.tally.hits,
        counted=running.tally.whole,
        never_fit=None if None in refused else sum(count or 0 for count in refused),
        sessions=running.sessions,
        billed=() if running.billed is None else running.billed.sums(),
        replicas=tuple(totals[number] for number in own),
    )


def together(shares: Sequence[Share]) -> Replayed:
    """What came of the point; `shares` by the numbers of their shards."""
    refused = [share.never_fit for share in shares]
    sessions = shares[0].sessions
    for share in shares[1:]:
        sessions.add_hits(share.sessions)
    # The first of each shard, the second of each, and so on, are the replicas by their numbers.
    by_turns = zip_longest(*(share.replicas for share in shares))
    replicas = tuple(replica for turn in by_turns for replica in turn if replica is not None)
    return Replayed(
        hits=sum(share.hits for share in shares),
        counted=shares[0].counted,
        never_fit=None if None in refused else sum(count or 0 for count in refused),
        by_session=sessions.spread(),
        imbalance=FleetTotal(replicas, 0, 0, 0, 0.0, 0).imbalance,
        billed=tuple(_billed(parts) for parts in zip(*(share.billed for share in shares), strict=True)),
    )


def _billed(parts: Sequence[Billed]) -> Billed:
    return replace(parts[0], hit_tokens=sum(part.hit_tokens for part in parts))
