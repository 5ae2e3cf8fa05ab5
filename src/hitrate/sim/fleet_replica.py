"""One replica of a fleet: its cache, its engine where there is virtual time, and what a router can learn of it."""

from __future__ import annotations

from array import array
from collections import Counter
from heapq import heappop, heappush
from itertools import takewhile
from math import inf
from typing import NamedTuple

from hitrate.sim.capacity.interface import SteppedCache
from hitrate.sim.policies.interface import BlockRequest
from hitrate.sim.timing.engine import Engine
from hitrate.sim.timing.moments import Moments


class _Flight(NamedTuple):
    asked: array[int]
    hits: int
    """Blocks."""
    input_tokens: int
    new_tokens: int
    output_tokens: int


class Replica:
    """As `policies.interface.ReplicaView` describes it.

    A prompt's blocks are served to who is routed here later: engines let requests in in the order they came, so those
    are computed by then. To routers they show when they are computed, at the first token of the prompt.
    """

    def __init__(self, cache: SteppedCache, engine: Engine | None = None, moments: Moments | None = None) -> None:
        self.cache = cache
        self.engine = engine
        self.capacity = cache.capacity
        self.requests = 0
        self.prompt_tokens = 0
        self.hit_tokens = 0
        self.in_flight = 0
        self.prefill_tokens = 0
        self.most_in_flight = 0
        self.next_moment = inf
        """Before it nothing happens here."""
        self._moments = moments or Moments()
        self._flights: dict[int, _Flight] = {}
        self._coming: list[tuple[float, int]] = []
        """Requests whose blocks are on their way, by the moment they are here."""
        self._held: Counter[int] = Counter()
        self._computing: Counter[int] = Counter()

    @property
    def new_tokens(self) -> int:
        return self.prompt_tokens - self.hit_tokens

    @property
    def backlog(self) -> int:
        return self.new_tokens if self.engine is None else self.prefill_tokens

    @property
    def load(self) -> int:
        return self.new_tokens if self.engine is None else self.in_flight

    @property
    def held_blocks(self) -> int:
        return len(self._held)

    def held_with(self, request: BlockRequest) -> int:
        if not self._held:
            return len(request.asked)
        return len(self._held) + len(request.asked) - sum(map(self._held.__contains__, request.asked))

    def peek(self, request: BlockRequest) -> int:
        hits = self.cache.peek(request.asked, request.input_tokens, request.at_s)
        if self._computing:
            computing = self._computing
            hits = sum(1 for _ in takewhile(lambda block: block not in computing, request.asked[:hits]))
        return hits * request.block_tokens

    def begin(self, request: BlockRequest, hits: int, new_tokens: int, ready: float) -> None:
        """A request that fits is on its way to the engine, where it is at `ready`. In order of arrival."""
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self.prefill_tokens += new_tokens
        self._held.update(request.asked)
        self._computing.update(request.asked[hits:])
        flight = _Flight(request.asked, hits, request.input_tokens, new_tokens, request.output_tokens)
        self._flights[request.number] = flight
        heappush(self._coming, (ready, request.number))
        self.until(request.at_s)

    def until(self, now: float) -> None:
        engine, coming = self.engine, self._coming
        assert engine is not None
        while coming and coming[0][0] <= now:
            moment, number = heappop(coming)
            self._note(engine, moment)
            flight = self._flights[number]
            engine.arrive(number, moment, flight.input_tokens, flight.new_tokens, flight.output_tokens)
        self._note(engine, now)
        self.next_moment = min(engine.next_moment, coming[0][0]) if coming else engine.next_moment

    def _note(self, engine: Engine, now: float) -> None:
        moments = self._moments
        for moment, kind, number in engine.until(now):
            if kind == "scheduled":
                moments.scheduled[number] = moment
            elif kind == "first token":
                moments.first_token[number] = moment
                flight = self._flights[number]
                self.prefill_tokens -= flight.new_tokens
                _remove(self._computing, flight.asked[flight.hits :])
            else:
                moments.end[number] = moment
                self.in_flight -= 1
                _remove(self._held, self._flights.pop(number).asked)

    def check_integrity(self) -> None:
        """Raise AssertionError with the first broken invariant. Changes nothing."""
        self.cache.check_integrity()
        assert 0 <= self.hit_tokens <= self.prompt_tokens, "more was served than asked"
        assert self.in_flight == len(self._flights), "requests in flight that nobody knows"
        assert self.prefill_tokens >= 0, "more was computed than there was to compute"
        assert self.in_flight or not (self._held or self._computing or self.prefill_tokens), "holds blocks for nobody"


def _remove(counts: Counter[int], blocks: array[int]) -> None:
    for block in blocks:
        if counts[block] == 1:
            del counts[block]
        else:
            counts[block] -= 1
