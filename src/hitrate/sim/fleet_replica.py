"""One replica of a fleet: its cache, its engine where there is virtual time, and what a router can learn of it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import takewhile
from math import inf

from hitrate.sim.capacity.interface import SteppedCache
from hitrate.sim.policies.interface import BlockRequest
from hitrate.sim.timing.engine import Engine
from hitrate.sim.timing.engine_timing import EngineTiming
from hitrate.sim.timing.memory import BlockMemory
from hitrate.sim.timing.moments import Moments


class _Flight:
    __slots__ = ("answers", "asked", "hits", "input_tokens", "new_tokens", "output_tokens")

    def __init__(self, asked: array[int], hits: int, input_tokens: int, new_tokens: int, output_tokens: int) -> None:
        self.asked = asked
        self.hits = hits
        """Blocks."""
        self.input_tokens = input_tokens
        self.new_tokens = new_tokens
        self.output_tokens = output_tokens
        self.answers = False
        """Whether it has had its first token."""


class _Counts(dict[int, int]):
    """How many requests a block is of; blocks of none are not in it."""

    def __init__(self, all_blocks: Iterable[array[int]]) -> None:
        super().__init__()
        for blocks in all_blocks:
            self.add(blocks)

    def add(self, blocks: array[int]) -> None:
        for block in blocks:
            self[block] = self.get(block, 0) + 1

    def remove(self, blocks: array[int]) -> None:
        for block in blocks:
            count = self[block]
            if count == 1:
                del self[block]
            else:
                self[block] = count - 1


class Replica:
    """As `policies.interface.ReplicaView` describes it.

    A prompt's blocks are served to who is routed here later: engines let requests in in the order they came, so those
    are computed by then. To routers they show when they are computed, at the first token of the prompt.
    """

    def __init__(self, cache: SteppedCache) -> None:
        self.cache = cache
        self.engine: Engine | None = None
        self.capacity = cache.capacity
        self.requests = 0
        self.prompt_tokens = 0
        self.hit_tokens = 0
        self.in_flight = 0
        self.prefill_tokens = 0
        self.most_in_flight = 0
        self.next_moment = inf
        """Before it nothing happens here."""
        self._moments = Moments()
        self._memory: BlockMemory | None = None
        self._flights: dict[int, _Flight] = {}
        self._coming: list[tuple[float, int]] = []
        """Requests whose blocks are on their way, by the moment they are here."""
        self._held: _Counts | None = None
        self._computing: _Counts | None = None
        """Of the requests in flight; only kept from when a policy asks for it."""

    def run_in(self, timing: EngineTiming, block_tokens: int, moments: Moments) -> None:
        """From now on its requests take time, which is noted in `moments`."""
        if timing.kv_capacity_tokens is not None:
            self._memory = BlockMemory(block_tokens)
        self.engine = Engine(timing, self._memory)
        self._moments = moments

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
        return len(self._holding())

    def held_with(self, request: BlockRequest) -> int:
        held = self._holding()
        if not held:
            return len(request.asked)
        return len(held) + len(request.asked) - sum(map(held.__contains__, request.asked))

    def _holding(self) -> _Counts:
        if self._held is None:
            self._held = _Counts(flight.asked for flight in self._flights.values())
        return self._held

    def peek(self, request: BlockRequest) -> int:
        hits = self.cache.peek(request.asked, request.input_tokens, request.at_s)
        if self.engine is not None and self._computing is None:
            waiting = [flight for flight in self._flights.values() if not flight.answers]
            self._computing = _Counts(flight.asked[flight.hits :] for flight in waiting)
        if self._computing:
            computing, leading = self._computing, request.asked[:hits]
            if not computing.keys().isdisjoint(leading):
                hits = sum(1 for _ in takewhile(lambda block: block not in computing, leading))
        return hits * request.block_tokens

    def begin(self, request: BlockRequest, hits: int, new_tokens: int, ready: float) -> None:
        """A request that fits is on its way to the engine, where it is at `ready`. In order of arrival."""
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self.prefill_tokens += new_tokens
        flight = _Flight(request.asked, hits, request.input_tokens, new_tokens, request.output_tokens)
        self._flights[request.number] = flight
        if self._held is not None:
            self._held.add(request.asked)
        if self._computing is not None:
            self._computing.add(request.asked[hits:])
        if self._memory is not None:
            self._memory.expect(request.number, request.asked, request.input_tokens)
        if ready > request.at_s or self._coming:
            heappush(self._coming, (ready, request.number))
            self.until(request.at_s)
        else:
            self.next_moment = self._arrive(request.number, ready)

    def until(self, now: float) -> None:
        engine, coming = self.engine, self._coming
        assert engine is not None
        while coming and coming[0][0] <= now:
            moment, number = heappop(coming)
            self._note(engine, moment)
            self._arrive(number, moment)
        self._note(engine, now)
        self.next_moment = min(engine.next_moment, coming[0][0]) if coming else engine.next_moment

    def _arrive(self, number: int, moment: float) -> float:
        """The moment before which nothing happens at the engine then."""
        assert self.engine is not None
        flight = self._flights[number]
        self.engine.arrive(number, moment, flight.input_tokens, flight.new_tokens, flight.output_tokens)
        return self.engine.next_moment

    def _note(self, engine: Engine, now: float) -> None:
        moments = self._moments
        for moment, kind, number in engine.until(now):
            if kind == "scheduled":
                moments.scheduled[number] = moment
            elif kind == "first token":
                moments.first_token[number] = moment
                flight = self._flights[number]
                flight.answers = True
                self.prefill_tokens -= flight.new_tokens
                if self._computing is not None:
                    self._computing.remove(flight.asked[flight.hits :])
            else:
                moments.end[number] = moment
                self.in_flight -= 1
                flight = self._flights.pop(number)
                if self._held is not None:
                    self._held.remove(flight.asked)

    def check_integrity(self) -> None:
        """Raise AssertionError with the first broken invariant. Changes nothing."""
        self.cache.check_integrity()
        assert 0 <= self.hit_tokens <= self.prompt_tokens, "more was served than asked"
        assert self.in_flight == len(self._flights), "requests in flight that nobody knows"
        assert self.prefill_tokens >= 0, "more was computed than there was to compute"
        assert self.in_flight or not (self._held or self._computing or self.prefill_tokens), "holds blocks for nobody"
