"""N replicas behind one router over the blocks of a trace: what each serves, and how evenly the work is spread.

Requests are replayed one after another: then nothing is ever in flight, and only hits are told. With a `service_time`
they overlap as they arrived, for policies that look at loads; a prompt's blocks are then there as soon as it is routed.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import pairwise
from math import isnan
from typing import NamedTuple, Protocol

from hitrate.core.trace import Chunk
from hitrate.errors import UsageError
from hitrate.sim.capacity.interface import BlockCache, SteppedCache
from hitrate.sim.policies.interface import BlockPolicy, BlockRequest
from hitrate.sim.policies.registry import make_policy


class ServiceTime(Protocol):
    def __call__(self, request: BlockRequest, hit_tokens: int, replica: int) -> tuple[float, float]:
        """Seconds from arrival to the first token, and from there to the last. Called once a request, in order of
        arrival."""
        ...


class Rates:
    """Prompts of a replica one after another at so many tokens a second; replies at so many, whoever else is served."""

    def __init__(self, prefill_tokens_per_s: float, decode_tokens_per_s: float) -> None:
        self._prefill = prefill_tokens_per_s
        self._decode = decode_tokens_per_s
        self._free_at: dict[int, float] = {}

    def __call__(self, request: BlockRequest, hit_tokens: int, replica: int) -> tuple[float, float]:
        start = max(request.at_s, self._free_at.get(replica, request.at_s))
        first_token = start + (request.input_tokens - hit_tokens) / self._prefill
        self._free_at[replica] = first_token
        return first_token - request.at_s, max(0, request.output_tokens) / self._decode


class SharedStore:
    """A cache behind all replicas: what none of a replica's own blocks serve, it may have, at a price.

    `cache` is of all replicas together, `transfer_s_per_token` what a token of it takes to the replica. With caches of
    no blocks at the replicas, it is one cache for all.
    """

    def __init__(self, cache: SteppedCache, transfer_s_per_token: float) -> None:
        self.cache = cache
        self.transfer_s_per_token = transfer_s_per_token
        self.transferred_tokens = 0


class Replica:
    """One engine, as `policies.interface.ReplicaView` describes it."""

    def __init__(self, cache: SteppedCache, timed: bool) -> None:
        self.cache = cache
        self.capacity = cache.capacity
        self.requests = 0
        self.prompt_tokens = 0
        self.hit_tokens = 0
        self.in_flight = 0
        self.prefill_tokens = 0
        self.most_in_flight = 0
        self._timed = timed
        self._held: Counter[int] = Counter()

    @property
    def new_tokens(self) -> int:
        return self.prompt_tokens - self.hit_tokens

    @property
    def backlog(self) -> int:
        return self.prefill_tokens if self._timed else self.prompt_tokens - self.hit_tokens

    @property
    def load(self) -> int:
        return self.in_flight if self._timed else self.prompt_tokens - self.hit_tokens

    @property
    def held_blocks(self) -> int:
        return len(self._held)

    def held_with(self, request: BlockRequest) -> int:
        return len(self._held) + len(request.asked) - sum(map(self._held.__contains__, request.asked))

    def peek(self, request: BlockRequest) -> int:
        return self.cache.peek(request.asked, request.input_tokens, request.at_s) * request.block_tokens

    def begin(self, request: BlockRequest, new_tokens: int) -> None:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self.prefill_tokens += new_tokens
        self._held.update(request.asked)

    def first_token(self, new_tokens: int) -> None:
        self.prefill_tokens -= new_tokens

    def end(self, asked: array[int]) -> None:
        self.in_flight -= 1
        held = self._held
        for block in asked:
            if held[block] == 1:
                del held[block]
            else:
                held[block] -= 1


class ReplicaTotal(NamedTuple):
    requests: int
    prompt_tokens: int
    hit_tokens: int
    new_tokens: int
    most_in_flight: int
    """0 where requests were replayed one after another."""


class FleetTotal(NamedTuple):
    """Hit tokens are those of `DEFINITIONS["tokens"]`: the last block of a prompt counts what is in it."""

    replicas: tuple[ReplicaTotal, ...]
    prompt_tokens: int
    hit_tokens: int
    transferred_tokens: int
    """Of the hits, those that came from a shared store."""
    transfer_s: float
    without_session: int
    """Requests for which a policy by session had none."""

    @property
    def hit_rate(self) -> float | None:
        return self.hit_tokens / self.prompt_tokens if self.prompt_tokens else None

    @property
    def imbalance(self) -> float | None:
        """The busiest replica's new tokens over their mean: 1 is even, the number of replicas is all on one."""
        new = [replica.new_tokens for replica in self.replicas]
        return max(new) * len(new) / sum(new) if sum(new) else None


class FleetReplay:
    """A cache of the whole fleet: give it chunks with `add` as any other, then ask for `total`.

    `policy` is a policy or its specification (see `policies.registry`), `make_cache` gives an empty cache at each call.
    """

    def __init__(
        self,
        replicas: int,
        make_cache: Callable[[], BlockCache],
        policy: str | BlockPolicy,
        block_tokens: int,
        *,
        seed: int = 0,
        service_time: ServiceTime | None = None,
        store: SharedStore | None = None,
    ) -> None:
        if replicas < 1:
            raise UsageError(f"a fleet needs at least 1 replica, not {replicas}")
        self.policy = make_policy(policy, seed=seed) if isinstance(policy, str) else policy
        self.replicas = [Replica(_stepped(make_cache()), service_time is not None) for _ in range(replicas)]
        self.capacity = self.replicas[0].capacity
        """Of one replica."""
        self.without_session = 0
        self._block_tokens = block_tokens
        self._service_time = service_time
        self._store = store
        self._number = 0
        self._events: list[tuple[float, int, int, int, array[int]]] = []
        """Moment, 0 for a first token and 1 for an end, number of the request, replica, its blocks; by the moment."""
        self._computed: dict[int, int] = {}
        """Tokens that requests which have not given their first token have to compute."""

    @property
    def never_fit(self) -> int | None:
        """Requests that a replica's cache is too small for; None where the rule takes them."""
        counts = [getattr(replica.cache, "never_fit", None) for replica in self.replicas]
        return None if None in counts else sum(count or 0 for count in counts)

    def add(self, chunk: Chunk) -> list[int]:
        """Per request, the leading blocks served at the replica it was routed to."""
        served = []
        choose, replicas, block_tokens = self.policy.choose, self.replicas, self._block_tokens
        timed, store = self._service_time is not None, self._store
        ids, number = chunk.ids, self._number
        columns = zip(chunk.at_s, chunk.input_tokens, chunk.output_tokens, chunk.sessions, strict=True)
        for (start, end), (at_s, tokens, output, session) in zip(pairwise(chunk.starts), columns, strict=True):
            asked = ids[start:end]
            request = BlockRequest(
                number, asked, tokens, block_tokens, at_s=at_s, output_tokens=output, session=session
            )
            if session < 0:
                self.without_session += 1
            if timed:
                self._until(at_s)
            chosen = choose(request, replicas) if len(replicas) > 1 else 0
            replica = replicas[chosen]
            hits = replica.cache.serve(asked, tokens, at_s)
            if store is not None:
                hits = self._from_store(store, request, hits)
            hit_tokens = min(hits * block_tokens, tokens)
            replica.requests += 1
            replica.prompt_tokens += tokens
            replica.hit_tokens += hit_tokens
            if timed:
                self._begin(request, chosen, hit_tokens)
            served.append(hits)
            number += 1
        self._number = number
        return served

    def _from_store(self, store: SharedStore, request: BlockRequest, own: int) -> int:
        stored = store.cache.serve(request.asked, request.input_tokens, request.at_s)
        if stored <= own:
            return own
        served = [min(hits * request.block_tokens, request.input_tokens) for hits in (own, stored)]
        store.transferred_tokens += served[1] - served[0]
        return stored

    def _begin(self, request: BlockRequest, chosen: int, hit_tokens: int) -> None:
        assert self._service_time is not None
        to_first_token, to_end = self._service_time(request, hit_tokens, chosen)
        new_tokens = request.input_tokens - hit_tokens
        self.replicas[chosen].begin(request, new_tokens)
        self._computed[request.number] = new_tokens
        first_token = request.at_s + to_first_token
        heappush(self._events, (first_token, 0, request.number, chosen, request.asked))
        heappush(self._events, (first_token + to_end, 1, request.number, chosen, request.asked))

    def _until(self, now: float) -> None:
        if isnan(now):
            raise UsageError("requests can only overlap in a trace with times, which this one does not have")
        events = self._events
        while events and events[0][0] <= now:
            _, kind, number, replica, asked = heappop(events)
            if kind == 0:
                self.replicas[replica].first_token(self._computed.pop(number))
            else:
                self.replicas[replica].end(asked)

    def total(self) -> FleetTotal:
        """Of all requests so far."""
        replicas = tuple(
            ReplicaTotal(one.requests, one.prompt_tokens, one.hit_tokens, one.new_tokens, one.most_in_flight)
            for one in self.replicas
        )
        store = self._store
        transferred = 0 if store is None else store.transferred_tokens
        return FleetTotal(
            replicas,
            sum(one.prompt_tokens for one in replicas),
            sum(one.hit_tokens for one in replicas),
            transferred,
            0.0 if store is None else transferred * store.transfer_s_per_token,
            self.without_session,
        )

    def check_integrity(self) -> None:
        """Raise AssertionError with the first broken invariant. Changes nothing."""
        for number, replica in enumerate(self.replicas):
            replica.cache.check_integrity()
            assert 0 <= replica.hit_tokens <= replica.prompt_tokens, f"replica {number} served more than it was asked"
            assert replica.in_flight >= 0 and replica.prefill_tokens >= 0, f"replica {number} ended more than began"
            assert replica.in_flight or not replica.held_blocks, f"replica {number} holds blocks for nobody"
        assert sum(replica.requests for replica in self.replicas) == self._number, "a request went nowhere"


def replay(
    chunks: Iterable[Chunk],
    replicas: int,
    make_cache: Callable[[], BlockCache],
    policy: str | BlockPolicy,
    block_tokens: int,
    *,
    seed: int = 0,
    service_time: ServiceTime | None = None,
    store: SharedStore | None = None,
) -> FleetTotal:
    """A whole trace at once; see `FleetReplay`."""
    fleet = FleetReplay(replicas, make_cache, policy, block_tokens, seed=seed, service_time=service_time, store=store)
    for chunk in chunks:
        fleet.add(chunk)
    return fleet.total()


def _stepped(cache: BlockCache) -> SteppedCache:
    if not isinstance(cache, SteppedCache):
        raise UsageError("a fleet is replayed with rules of engines: vllm, leaf-lru or fifo")
    return cache
