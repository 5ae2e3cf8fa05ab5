"""Points replayed over a trace in one reading of it."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from itertools import repeat

from msgspec import Struct
from msgspec.structs import replace

from hitrate.core.findings import RecordSums
from hitrate.core.records import Records
from hitrate.core.simulation_results import SessionSpread
from hitrate.core.trace import Chunk, Trace
from hitrate.errors import UsageError
from hitrate.sim.capacity.billed import Billed, BilledTally
from hitrate.sim.capacity.by_session import SessionTally
from hitrate.sim.capacity.chained import Chains
from hitrate.sim.capacity.curve import LruCurve
from hitrate.sim.capacity.definitions import DEFINITIONS, Tally
from hitrate.sim.capacity.interface import BlockCache, SteppedCache
from hitrate.sim.capacity.rules import Setting, block_rule
from hitrate.sim.fleet_replay import FleetReplay, SharedStore
from hitrate.sim.timing.moments import FleetTiming
from hitrate.simulating.wanted import Point


class Replayed(Struct, frozen=True, kw_only=True):
    """What came of a point. Picklable, as the point."""

    hits: float
    """Above the line of the definition."""
    counted: float
    """Below it."""
    never_fit: int | None
    by_session: SessionSpread | None
    imbalance: float | None = None
    timing: FleetTiming | None = None
    transferred_tokens: int | None = None
    """From a store, of the whole trace; None without one."""
    billed: tuple[Billed, ...] = ()
    """By the point's price steps."""


class TraceSums(Struct, frozen=True, kw_only=True):
    """Of a trace, as it was read."""

    requests: int
    blocks: int
    distinct_blocks: int
    counted_requests: int
    """Those from the first counted on."""
    prompt_tokens: int
    """Of those."""
    all_prompt_tokens: int
    span_s: float | None
    """From the first request to the last; None where not all have times."""
    records: RecordSums


def replay(
    trace: Trace, points: Sequence[Point], first: int = 0, curve: LruCurve | None = None
) -> tuple[TraceSums, list[Replayed]]:
    """Read the trace once for all points, counting from the request with number `first` on; `curve` is filled too.

    UsageError and InputFileError as the trace and its rules have them.
    """
    running = [Running(point, trace, first) for point in points]
    return run(trace, running, first, curve), [one.replayed() for one in running]


def run(trace: Trace, running: Sequence[Running], first: int, curve: LruCurve | None = None) -> TraceSums:
    """Read the trace once; errors as of `replay`."""
    sums, chains = _Sums(trace.facts.block_tokens, first), Chains()
    for chunk in _whole(trace) if any(one.rule.whole_trace for one in running) else trace.chunks():
        sums.add(chunk)
        chained = chunk if trace.facts.ordered else chains.of(chunk)
        for one in running:
            one.add(chained if one.definition.consecutive else chunk)
        if curve is not None:
            curve.add(chained)
    return sums.total(trace.records())


def _whole(trace: Trace) -> Iterator[Chunk]:
    """The trace as one chunk."""
    whole = Chunk(array("d"), array("q"), array("q"), array("q"), array("q", [0]), array("q"))
    for chunk in trace.chunks():
        before = len(whole.ids)
        whole.starts.extend(before + start for start in chunk.starts[1:])
        for column in ("at_s", "input_tokens", "output_tokens", "sessions", "ids"):
            getattr(whole, column).extend(getattr(chunk, column))
    yield whole


class Running:
    """A point's cache, and what it has served so far. `cache`: in place of the one that the point says."""

    def __init__(self, point: Point, trace: Trace, first: int, cache: BlockCache | None = None) -> None:
        block_tokens = trace.facts.block_tokens
        self.rule = block_rule(point.rule)
        self.definition = DEFINITIONS[point.definition]
        self._timeless = point.ttl_s is None
        self._stored = point.store is not None
        self._cache = cache or _cache(point, block_tokens)
        self.tally = Tally(self.definition, block_tokens, first)
        self.sessions = SessionTally(self.definition, block_tokens, first)
        self._first = first
        self.billed = None
        if point.price_steps is not None:
            counted = DEFINITIONS["tokens" if trace.facts.ordered else "even-tokens"]
            self.billed = BilledTally(point.price_steps, counted, block_tokens)

    def add(self, chunk: Chunk) -> None:
        if not self._timeless and any(map(math.isnan, chunk.at_s)):
            raise UsageError("--ttl needs the time of every request, which this trace does not have")
        served = self._cache.add(chunk)
        self.tally.add(chunk, served)
        self.sessions.add(chunk, served)
        if self.billed is not None:
            self.billed.add(chunk, served)

    def replayed(self) -> Replayed:
        fleet = self._cache.total(self._first) if isinstance(self._cache, FleetReplay) else None
        return Replayed(
            hits=self.tally.hits,
            counted=self.tally.whole,
            never_fit=getattr(self._cache, "never_fit", None),
            by_session=self.sessions.spread(),
            imbalance=None if fleet is None or len(fleet.replicas) == 1 else fleet.imbalance,
            timing=None if fleet is None else fleet.timing,
            transferred_tokens=None if fleet is None or not self._stored else fleet.transferred_tokens,
            billed=() if self.billed is None else self.billed.sums(),
        )


def make_cache(point: Point, block_tokens: int) -> BlockCache:
    """Of one replica."""
    return block_rule(point.rule).make(Setting(point.capacity, block_tokens, point.ttl_s, point.kernel))


def _cache(point: Point, block_tokens: int) -> BlockCache:
    """Of one replica, or of all behind their router."""
    single = point.replicas == 1 or point.policy is None
    if single and point.timing is None and point.store is None:
        return make_cache(point, block_tokens)
    timing = point.timing
    if timing is not None and point.capacity is not None:
        # The memory is the one asked for, not that of the machine that was measured.
        timing = replace(timing, kv_capacity_tokens=None)
    return FleetReplay(
        point.replicas,
        lambda: make_cache(point, block_tokens),
        point.policy or "round-robin",
        block_tokens,
        seed=point.seed,
        timing=timing,
        store=_store(point, block_tokens),
    )


def _store(point: Point, block_tokens: int) -> SharedStore | None:
    """It evicts by the rule of the replicas' own caches."""
    if point.store is None:
        return None
    cache = make_cache(replace(point, capacity=point.store.blocks), block_tokens)
    if not isinstance(cache, SteppedCache):
        raise UsageError("a store is replayed with rules of engines: vllm, leaf-lru or fifo")
    return SharedStore(cache, point.store.transfer_s_per_token)


class _Sums:
    def __init__(self, block_tokens: int, first: int) -> None:
        self._requests = self._blocks = self._distinct_blocks = 0
        self._prompt_tokens = 0
        self._last_s = self._all_s = 0.0
        self._prompts = Tally(DEFINITIONS["tokens"], block_tokens, first)

    def add(self, chunk: Chunk) -> None:
        self._requests += len(chunk.input_tokens)
        self._blocks += len(chunk.ids)
        self._prompt_tokens += sum(chunk.input_tokens)
        # A request without a time makes the sum NaN.
        self._all_s += sum(chunk.at_s)
        self._last_s = chunk.at_s[-1]
        self._prompts.add(chunk, repeat(0, len(chunk.input_tokens)))
        self._distinct_blocks = max(self._distinct_blocks, max(chunk.ids, default=-1) + 1)

    def total(self, records: Records) -> TraceSums:
        return TraceSums(
            requests=self._requests,
            blocks=self._blocks,
            distinct_blocks=self._distinct_blocks,
            counted_requests=self._prompts.requests,
            prompt_tokens=int(self._prompts.whole),
            all_prompt_tokens=self._prompt_tokens,
            span_s=None if math.isnan(self._all_s) else self._last_s,
            records=RecordSums(
                read=records.read,
                used=records.used,
                damaged=records.damaged,
                repeated=records.repeated,
                skipped=records.skipped,
                remarks=records.remarks,
            ),
        )
