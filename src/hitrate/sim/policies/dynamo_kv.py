"""NVIDIA Dynamo's KV router: the least blocks to compute and to hold.

https://github.com/ai-dynamo/dynamo, lib/kv-router/src/scheduling/selector/default.rs (1.6): the cost is
`prefill_load_scale` * max(0, blocks to compute - `overlap_score_credit` * blocks cached) + blocks in use, with this
request each. Blocks to compute are those of requests whose first token has not come; blocks in use are counted once,
however many requests share them. Engines tell what they hold by events; the temperature is 0. Dynamo draws among equal
costs anew in every run; here the seed draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hitrate.sim.policies.choosing import best_at_random
from hitrate.sim.policies.interface import BlockRequest, ReplicaView


class DynamoKv:
    needs_time = True

    def __init__(self, *, seed: int = 0, overlap_score_credit: float = 1, prefill_load_scale: float = 1) -> None:
        self._seed = seed
        self._credit = overlap_score_credit
        self._scale = prefill_load_scale
        self.reset()

    def reset(self) -> None:
        self._random = Random(self._seed)

    def choose(self, request: BlockRequest, replicas: Sequence[ReplicaView]) -> int:
        return best_at_random(self._random, [-self._cost(request, replica) for replica in replicas])

    def _cost(self, request: BlockRequest, replica: ReplicaView) -> float:
        to_compute = replica.prefill_tokens + request.input_tokens - self._credit * replica.peek(request)
        return self._scale * max(0.0, to_compute) / request.block_tokens + replica.held_with(request)


POLICY = DynamoKv
