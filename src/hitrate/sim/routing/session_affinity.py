"""All requests with one affinity key to one replica; a request without a key goes to a random one.

The replica is found by highest random weight (Thaler and Ravishankar, IEEE/ACM Transactions on Networking, 1998),
so that one more replica moves only its own share of the sessions. The weights do not depend on the seed: a key
stays where it is when a server starts again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from random import Random

from hitrate.sim.routing.interface import ReplicaView, RoutingRequest


class SessionAffinityRouting:
    needs_sessions = True

    def __init__(self, *, seed: int = 0) -> None:
        self._seed = seed
        self.reset()

    def choose(self, request: RoutingRequest, replicas: Sequence[ReplicaView]) -> int:
        if request.affinity is None:
            return self._random.randrange(len(replicas))
        key = hashlib.blake2b(request.affinity.encode("utf-8", "surrogatepass"))
        return max(range(len(replicas)), key=lambda replica: _weight(key, replica))

    def reset(self) -> None:
        self._random = Random(self._seed)


def _weight(key: hashlib.blake2b, replica: int) -> bytes:
    pair = key.copy()
    # The key's length is open, the number's is not: no key and number run into those of another pair.
    pair.update(replica.to_bytes(4, "big"))
    return pair.digest()


POLICY = SessionAffinityRouting
