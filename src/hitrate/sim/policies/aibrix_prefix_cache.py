"""AIBrix's `prefix-cache`: the longest match among replicas that are not much busier than the others.

https://github.com/vllm-project/aibrix, pkg/plugins/gateway/algorithms/prefix_cache.go at 01de8a5. Where the busiest
replica has more than twice the mean of requests in flight, with one added to it, and 8 more than the idlest, only the
idlest are looked at. Of those no more than a standard deviation above the mean the highest match in whole percent is
taken, of several the shortest queue; without any match the shortest queue. Equal ones are drawn.

Matches come from the router's own table of 200,000 blocks of 4 characters, a token's worth, for all replicas together,
the blocks used longest ago going first; here as many of the trace's blocks as these tokens are. Blocks that were not
used for 20 minutes are gone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from random import Random
from statistics import fmean, pstdev

from hitrate.sim.policies.interface import BlockRequest, ReplicaView
from hitrate.sim.policies.router_index import bits


class AibrixPrefixCache:
    needs_time = True

    def __init__(
        self,
        *,
        seed: int = 0,
        min_gap: int = 8,
        imbalance_factor: float = 2,
        deviations: float = 1,
        table_tokens: int = 200_000,
        ttl_s: float = 1200,
    ) -> None:
        self._seed = seed
        self._min_gap = min_gap
        self._imbalance_factor = imbalance_factor
        self._deviations = deviations
        self._table_tokens = table_tokens
        self._ttl_s = ttl_s
        self.reset()

    def reset(self) -> None:
        self._random = Random(self._seed)
        self._table: OrderedDict[int, tuple[int, float]] = OrderedDict()
        """Blocks with a bit for each replica and the time of their last use."""

    def choose(self, request: BlockRequest, replicas: Sequence[ReplicaView]) -> int:
        queues = [replica.in_flight for replica in replicas]
        allowed = range(len(replicas))
        mean = fmean(queues)
        longest, shortest = max(queues), min(queues)
        if longest > self._imbalance_factor * (mean + 1) and longest - shortest >= self._min_gap:
            allowed = [replica for replica in allowed if queues[replica] == shortest]  # type: ignore[assignment]
        most = mean + self._deviations * pstdev(queues)
        percents = self._match(request, allowed)
        fit = [(-percent, queues[replica], replica) for replica, percent in percents.items() if queues[replica] <= most]
        candidates = fit or [(0, queue, replica) for replica, queue in enumerate(queues)]
        best = min(candidates)[:2]
        chosen = self._random.choice([replica for *key, replica in candidates if tuple(key) == best])
        self._add(request, chosen)
        return chosen

    def _match(self, request: BlockRequest, allowed: Sequence[int]) -> dict[int, int]:
        """Per replica with a match, the percent of the prompt's blocks that it was sent, one behind the other."""
        table = self._table
        while table and next(iter(table.values()))[1] < request.at_s - self._ttl_s:
            table.popitem(False)
        left = sum(1 << replica for replica in allowed)
        matched: dict[int, int] = {}
        for number, block in enumerate(request.asked, 1):
            holders, _ = table.get(block, (0, 0.0))
            left &= holders
            if not left:
                break
            matched.update(dict.fromkeys(bits(left), 100 * number // len(request.asked)))
        return {replica: percent for replica, percent in matched.items() if percent}

    def _add(self, request: BlockRequest, chosen: int) -> None:
        table = self._table
        for block in request.asked:
            holders, _ = table.pop(block, (0, 0.0))
            table[block] = (holders | 1 << chosen, request.at_s)
        for _ in range(len(table) - request.blocks_of(self._table_tokens)):
            table.popitem(False)


POLICY = AibrixPrefixCache
