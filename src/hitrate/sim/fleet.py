"""N replicas behind one router, in virtual time: each with a cache of its own, or all reading one shared store."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hitrate.caches.interface import Lease, PrefixCache
from hitrate.errors import UsageError
from hitrate.sim.routing.interface import RoutingPolicy, RoutingRequest
from hitrate.sim.routing.registry import make_policy


class Replica:
    """One engine. `load` counts the visits that were routed here and have not ended."""

    __slots__ = ("cache", "load", "now")

    def __init__(self, cache: PrefixCache) -> None:
        self.cache = cache
        self.load = 0
        self.now = 0.0

    def peek(self, request: RoutingRequest) -> int:
        return self.cache.peek(request.tokens, now=self.now, namespace=request.namespace, **request.keywords)


class Visit:
    """A request at the replica it was routed to; `cached_tokens` is None while it waits to be admitted."""

    __slots__ = ("at", "ended", "lease", "replica", "request")

    def __init__(self, request: RoutingRequest, replica: int, at: Replica) -> None:
        self.request = request
        self.replica = replica
        self.at = at
        self.lease: Lease | None = None
        self.ended = False

    @property
    def cached_tokens(self) -> int | None:
        return None if self.lease is None else self.lease.cached_tokens


class Fleet:
    """A visit's life is `route` → `begin` (again, until it is admitted) → `publish` → `finish`, or `abort` at any
    point. `now` is in seconds and never runs backwards.

    `policy` is a routing policy or its specification (see `routing.registry`), `make_cache` gives an empty cache at
    each call. With `shared`, what one replica stored is there for all of them, as with a cluster-wide store.
    """

    def __init__(
        self,
        replicas: int,
        policy: str | RoutingPolicy,
        make_cache: Callable[[], PrefixCache],
        seed: int = 0,
        shared: bool = False,
    ) -> None:
        if replicas < 1:
            raise UsageError(f"a fleet needs at least 1 replica, not {replicas}")
        self.policy = make_policy(policy, seed=seed) if isinstance(policy, str) else policy
        self.caches = tuple(make_cache() for _ in range(1 if shared else replicas))
        self.replicas = tuple(Replica(self.caches[index % len(self.caches)]) for index in range(replicas))

    def route(self, request: RoutingRequest, *, now: float) -> Visit:
        """Choose the replica. It counts as loaded from here on, though nothing was looked up yet."""
        for replica in self.replicas:
            replica.now = now
        chosen = self.policy.choose(request, self.replicas) if len(self.replicas) > 1 else 0
        visit = Visit(request, chosen, self.replicas[chosen])
        visit.at.load += 1
        return visit

    def begin(self, visit: Visit, *, now: float) -> bool:
        """Look up and hold what is needed at the visit's replica. False: it has to wait, nothing changed."""
        request = visit.request
        visit.lease = visit.at.cache.begin(request.tokens, now=now, namespace=request.namespace, **request.keywords)
        return visit.lease is not None

    def publish(self, visit: Visit, *, now: float) -> None:
        """The prompt's state is computed: requests that reach this cache may read it from now on."""
        if not visit.ended:
            visit.at.cache.publish(_begun(visit), now=now)

    def finish(self, visit: Visit, generated: Sequence[int] = (), *, now: float) -> None:
        """The reply ended: keep what the engine keeps of prompt and reply, release what was held."""
        if self._end(visit):
            visit.at.cache.finish(_begun(visit), generated, now=now)

    def abort(self, visit: Visit, *, now: float) -> None:
        """The request died, perhaps while it still waited."""
        if self._end(visit) and visit.lease is not None:
            visit.at.cache.abort(visit.lease, now=now)

    def reset(self) -> None:
        """Forget caches, loads and the policy's state. Visits still under way may end, without effect on later ones."""
        for cache in self.caches:
            cache.reset()
        self.policy.reset()
        # New replicas, because visits still under way will end at the old ones.
        self.replicas = tuple(Replica(replica.cache) for replica in self.replicas)

    def check_integrity(self) -> None:
        """Raise AssertionError with the first broken invariant of the loads or of a cache."""
        for index, replica in enumerate(self.replicas):
            assert replica.load >= 0, f"replica {index} has a load of {replica.load}"
        for cache in self.caches:
            cache.check_integrity()

    def _end(self, visit: Visit) -> bool:
        """Take the visit off its replica's load, once. False when it had ended before."""
        if visit.ended:
            return False
        visit.ended = True
        visit.at.load -= 1
        return True


def _begun(visit: Visit) -> Lease:
    assert visit.lease is not None, "the visit was never admitted"
    return visit.lease
