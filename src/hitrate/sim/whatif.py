"""A log's calls replayed on a cache rule, over one replica or several: what each would have been served and written.

The same calls are replayed as they were sent and as a fix would have sent them, so both sides are of one rule.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from hitrate.caches.breakpoints import BreakpointLease
from hitrate.caches.interface import PrefixCache
from hitrate.errors import HitrateError
from hitrate.sim.fleet import Fleet, Visit
from hitrate.sim.routing.interface import RoutingRequest


class Moments(NamedTuple):
    """When a call was sent, gave its first token and was done, in seconds on one clock."""

    sent: float
    first: float
    done: float


class Prompt(NamedTuple):
    """`places` are further keywords of the cache's `begin`; `generated` the reply as the engine keeps it."""

    tokens: Sequence[int]
    generated: Sequence[int] = ()
    namespace: object = None
    places: Mapping[str, Any] = MappingProxyType({})
    affinity: str | None = None


class Served(NamedTuple):
    """Tokens of the vocabulary that the prompts came in. `written` by lifetime in seconds, None where nothing is
    written at a price. `refused`: the rule takes no such request."""

    cached: int
    written: Mapping[float, int] | None = None
    refused: bool = False


_FIRST, _DONE, _SENT = 0, 1, 2
"""At equal moments a reply ends before another call begins."""


def replay(
    moments: Sequence[Moments],
    prompt_of: Callable[[int], Prompt],
    make_cache: Callable[[], PrefixCache],
    *,
    replicas: int = 1,
    seed: int = 0,
) -> list[Served]:
    """One per call, in the order given. A call with an affinity goes where that leads, one without to any replica."""
    replaying = _Replay(moments, prompt_of, Fleet(replicas, "session-affinity", make_cache, seed=seed))
    return replaying.run()


class _Replay:
    def __init__(self, moments: Sequence[Moments], prompt_of: Callable[[int], Prompt], fleet: Fleet) -> None:
        self._moments = moments
        self._prompt_of = prompt_of
        self._fleet = fleet
        self._served: list[Served | None] = [None] * len(moments)
        self._visits: dict[int, Visit] = {}
        self._generated: dict[int, Sequence[int]] = {}
        self._waiting: dict[int, deque[int]] = {}
        self._events = [(moment.sent, _SENT, index) for index, moment in enumerate(moments)]
        heapq.heapify(self._events)

    def run(self) -> list[Served]:
        while self._events:
            now, kind, index = heapq.heappop(self._events)
            if kind == _SENT:
                self._arrive(index, now)
            elif index in self._visits and kind == _FIRST:
                self._fleet.publish(self._visits[index], now=now)
            elif index in self._visits:
                self._end(index, now)
        return [Served(0, refused=True) if one is None else one for one in self._served]

    def _arrive(self, index: int, now: float) -> None:
        prompt = self._prompt_of(index)
        request = RoutingRequest(prompt.tokens, prompt.affinity, prompt.namespace, prompt.places)
        visit = self._visits[index] = self._fleet.route(request, now=now)
        self._generated[index] = prompt.generated
        queue = self._waiting.setdefault(visit.replica, deque())
        if (queue or not self._admit(index, now)) and index in self._visits:
            queue.append(index)

    def _admit(self, index: int, now: float) -> bool:
        """False when it has to wait, or when the rule refuses it: then it has no visit any more."""
        visit = self._visits[index]
        try:
            if not self._fleet.begin(visit, now=now):
                return False
        except HitrateError:  # too many markers, a prompt larger than the context
            self._served[index] = Served(0, refused=True)
            self._fleet.abort(self._visits.pop(index), now=now)
            return False
        lease = visit.lease
        assert lease is not None
        written = dict(lease.written_by_ttl) if isinstance(lease, BreakpointLease) else None
        self._served[index] = Served(lease.cached_tokens, written)
        moments = self._moments[index]
        heapq.heappush(self._events, (max(now, moments.first), _FIRST, index))
        heapq.heappush(self._events, (max(now, moments.done), _DONE, index))
        return True

    def _end(self, index: int, now: float) -> None:
        visit = self._visits.pop(index)
        self._fleet.finish(visit, self._generated.pop(index, ()), now=now)
        queue = self._waiting.get(visit.replica, deque())
        while queue and (self._admit(queue[0], now) or queue[0] not in self._visits):
            queue.popleft()
