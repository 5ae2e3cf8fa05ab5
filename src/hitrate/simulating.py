"""A trace replayed: what caches of these sizes and rules serve of it. The one way that commands and tests take.

The caches are pure; here the trace is read once for all of them, or twice where only its last part counts.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product, repeat
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hitrate.core.findings import RecordSums
from hitrate.core.kv_memory import KvMemory
from hitrate.core.records import Records
from hitrate.core.simulation_results import Curve, SimulatedPoint, SimulateResult
from hitrate.core.trace import Chunk, Trace
from hitrate.errors import UsageError
from hitrate.sim.capacity.by_session import SessionTally
from hitrate.sim.capacity.chained import Chains
from hitrate.sim.capacity.curve import LruCurve
from hitrate.sim.capacity.definitions import DEFINITIONS, Definition, Tally
from hitrate.sim.capacity.interface import BlockCache
from hitrate.sim.capacity.regrouped import Regrouped
from hitrate.sim.capacity.rules import BlockRule, Setting, block_rule, step_note
from hitrate.sim.fleet_replay import FleetReplay
from hitrate.sim.policies.registry import make_policy, needs_time

KNEES = (0.5, 0.9, 0.99)
_POINTS_A_DOUBLING = 4
_CURVE_RULE = "leaf-lru"
_OF_ONLY_ROW = (
    "prompt_tokens",
    "hit_tokens",
    "hit_rate",
    "definition",
    "rule_set",
    "capacity_blocks",
    "replicas",
    "policy",
    "seed",
)


class Last(Struct, frozen=True):
    """The part of the requests, from the end, that is counted; those before it fill the cache."""

    share: float | None = None
    requests: int | None = None

    def first(self, requests: int) -> int:
        """Number of the first one counted, of so many."""
        if self.requests is not None:
            return max(0, requests - self.requests)
        return 0 if self.share is None else math.floor(requests * (1 - self.share))

    def __str__(self) -> str:
        return f"last {100 * self.share:g} %" if self.share is not None else f"last {self.requests:,} requests"


class Wanted(Struct, frozen=True, kw_only=True):
    """What is to be replayed: every rule with every capacity and lifetime, counted by every definition."""

    rules: tuple[str, ...] = ("vllm",)
    definitions: tuple[str, ...] = ()
    """None: tokens, or what the rule can count instead."""
    capacities: tuple[int | None, ...] = ()
    """In blocks; None is no limit."""
    gib: tuple[float, ...] = ()
    """Further capacities; they need `memory`."""
    memory: KvMemory | None = None
    ttls_s: tuple[float | None, ...] = (None,)
    block_size: int | None = None
    last: Last | None = None
    curve: bool = False
    replicas: int = 1
    policy: str | None = None
    seed: int = 0


def simulate(opened: Callable[[], Trace], wanted: Wanted) -> SimulateResult:
    """`opened` gives the trace from its start; it is called twice where only the last part counts.

    UsageError for what cannot be replayed of this trace, InputFileError for a trace that cannot be read.
    """
    wanted = _with_policy(wanted)
    first = 0 if wanted.last is None else wanted.last.first(_count(opened()))
    trace = opened()
    own_tokens = trace.facts.block_tokens
    if wanted.block_size not in (None, own_tokens):
        trace = Regrouped(trace, int(wanted.block_size or own_tokens))
    curve = _CurveReplay(trace, wanted, first) if wanted.curve else None
    replays = list(_replays(trace, wanted, first))
    sums, chains = _Sums(trace.facts.block_tokens, first), Chains()
    for chunk in _whole(trace) if any(one.rule.whole_trace for one in replays) else trace.chunks():
        sums.add(chunk)
        chained = chunk if trace.facts.ordered else chains.of(chunk)
        for replay in replays:
            replay.add(chained if replay.definition.consecutive else chunk)
        if curve is not None:
            curve.add(chained)
    notes = list(_notes(trace, replays, own_tokens, wanted))
    return _result(trace, wanted, [replay.point(sums.prompts) for replay in replays], curve, sums, notes)


def _with_policy(wanted: Wanted) -> Wanted:
    """UsageError for a policy that there is not."""
    if wanted.policy is not None:
        make_policy(wanted.policy)
    if wanted.replicas == 1:
        return wanted
    if wanted.curve:
        raise UsageError("--curve is of one cache: leave out --replicas")
    return replace(wanted, policy=wanted.policy or "round-robin")


def _count(trace: Trace) -> int:
    return sum(len(chunk.input_tokens) for chunk in trace.chunks())


def _whole(trace: Trace) -> Iterator[Chunk]:
    """The trace as one chunk."""
    whole = Chunk(array("d"), array("q"), array("q"), array("q"), array("q", [0]), array("q"))
    for chunk in trace.chunks():
        before = len(whole.ids)
        whole.starts.extend(before + start for start in chunk.starts[1:])
        for column in ("at_s", "input_tokens", "output_tokens", "sessions", "ids"):
            getattr(whole, column).extend(getattr(chunk, column))
    yield whole


class _Sums:
    """Of the trace; `prompts` of the requests that are counted."""

    def __init__(self, block_tokens: int, first: int) -> None:
        self.requests = self.blocks = self.distinct_blocks = 0
        self.prompts = Tally(DEFINITIONS["tokens"], block_tokens, first)

    def add(self, chunk: Chunk) -> None:
        self.requests += len(chunk.input_tokens)
        self.blocks += len(chunk.ids)
        self.prompts.add(chunk, repeat(0, len(chunk.input_tokens)))
        self.distinct_blocks = max(self.distinct_blocks, max(chunk.ids, default=-1) + 1)


class _Replay:
    """One cache, counted by one definition."""

    def __init__(
        self, rule: BlockRule, definition: Definition, at: Setting, cache: BlockCache, wanted: Wanted, first: int
    ) -> None:
        self.rule = rule
        self.definition = definition
        self._at = at
        self._cache = cache
        self._wanted = wanted
        self._tally = Tally(definition, at.block_tokens, first)
        self._sessions = SessionTally(definition, at.block_tokens, first)

    def add(self, chunk: Chunk) -> None:
        if self._at.ttl_s is not None and any(map(math.isnan, chunk.at_s)):
            raise UsageError("--ttl needs the time of every request, which this trace does not have")
        served = self._cache.add(chunk)
        self._tally.add(chunk, served)
        self._sessions.add(chunk, served)

    def point(self, prompts: Tally) -> SimulatedPoint:
        tally = self._tally
        point = _point(self.definition, self.rule.name, self._at, self._wanted, (tally.hits, tally.whole), prompts)
        return replace(
            point,
            never_fit=getattr(self._cache, "never_fit", None),
            by_session=self._sessions.spread(),
            imbalance=self._cache.total().imbalance if isinstance(self._cache, FleetReplay) else None,
        )


def _point(
    definition: Definition,
    rule: str,
    at: Setting,
    wanted: Wanted,
    found: tuple[float, float],
    prompts: Tally,
) -> SimulatedPoint:
    """`found` is above and below the line; `prompts` has the requests that are counted, and their tokens."""
    hits, counted = found
    tokens = None if at.capacity is None else at.capacity * at.block_tokens
    return SimulatedPoint(
        prompt_tokens=int(prompts.whole),
        hit_tokens=int(hits) if definition.unit == "tokens" else None,
        hit_rate=hits / counted if counted else None,
        definition=definition.name if wanted.last is None else f"{definition.name}, {wanted.last}",
        definition_text=definition.about if wanted.last is None else f"{definition.about}, of the {wanted.last}",
        rule_set=rule,
        capacity_blocks=at.capacity,
        replicas=wanted.replicas,
        policy=wanted.policy,
        seed=wanted.seed,
        block_size=at.block_tokens,
        capacity_tokens=tokens,
        capacity_gib=None if tokens is None or wanted.memory is None else wanted.memory.gib(tokens),
        ttl_s=at.ttl_s,
        requests=prompts.requests,
        unit=definition.unit,
        hits=hits,
        counted=counted,
    )


def _replays(trace: Trace, wanted: Wanted, first: int) -> Iterator[_Replay]:
    facts = trace.facts
    capacities = [*wanted.capacities, *(_blocks(gib, facts.block_tokens, wanted.memory) for gib in wanted.gib)]
    if not capacities and not wanted.curve:
        capacities = [None]
    for name, ttl_s in product(wanted.rules, wanted.ttls_s):
        rule = block_rule(name)
        step_note(rule, facts)
        if ttl_s is not None and not rule.has_ttl:
            raise UsageError(f"--ttl: rule {rule.name} has no lifetime; vllm, leaf-lru and vendors' rule sets have")
        if rule.full_blocks and not facts.ordered:
            raise UsageError(
                f"rule {rule.name} caches full blocks of one size, which {facts.format} traces do not have; use "
                "leaf-lru, fifo, block-lru, block-lfu or optimal"
            )
        for definition, capacity in product(_definitions(trace, rule, wanted), capacities):
            at = Setting(capacity, facts.block_tokens, ttl_s)
            yield _Replay(rule, definition, at, _cache(rule, at, wanted), wanted, first)


def _cache(rule: BlockRule, at: Setting, wanted: Wanted) -> BlockCache:
    """Of one replica, or of all behind their router."""
    if wanted.replicas == 1 or wanted.policy is None:
        return rule.make(at)
    return FleetReplay(wanted.replicas, lambda: rule.make(at), wanted.policy, at.block_tokens, seed=wanted.seed)


def _blocks(gib: float, block_tokens: int, memory: KvMemory | None) -> int:
    if memory is None:
        raise UsageError("--gib needs --model-config: a model's config.json says how much memory a token takes")
    return memory.blocks(gib, block_tokens)


def _definitions(trace: Trace, rule: BlockRule, wanted: Wanted) -> list[Definition]:
    """Those asked for; else tokens, or what comes nearest of what the rule can count of the trace."""
    if not wanted.definitions:
        names = ("tokens", "any-block") if trace.facts.ordered else ("even-tokens", "any-block-tokens")
        return [DEFINITIONS[name] for name in names if _why_not(trace, rule, DEFINITIONS[name]) is None]
    found = []
    for name in wanted.definitions:
        if name not in DEFINITIONS:
            raise UsageError(f"no definition is called {name!r}; known: {', '.join(DEFINITIONS)}")
        if why := _why_not(trace, rule, DEFINITIONS[name]):
            raise UsageError(why)
        found.append(DEFINITIONS[name])
    return found


def _why_not(trace: Trace, rule: BlockRule | None, definition: Definition) -> str | None:
    if not trace.facts.ordered and definition.full_size:
        return (
            f"definition {definition.name} counts blocks of one size, which {trace.facts.format} traces do not have; "
            "use even-tokens, any-block-tokens, blocks, any-block or request-mean"
        )
    if rule is None:
        return None
    if definition.consecutive and not rule.leading:
        return f"definition {definition.name} counts leading blocks, rule {rule.name} any; use any-block"
    if not definition.consecutive and not rule.anywhere:
        return (
            f"definition {definition.name} counts blocks behind a miss, which rule {rule.name} never serves; use "
            "block-lru, block-lfu or fifo-in-turn"
        )
    return None


class _CurveReplay:
    """All capacities of leaf-first LRU at once."""

    def __init__(self, trace: Trace, wanted: Wanted, first: int) -> None:
        self._wanted = wanted
        self._block_tokens = trace.facts.block_tokens
        self._definition = _curve_definition(trace, wanted)
        self._curve = LruCurve(self._definition, self._block_tokens, first)

    def add(self, chunk: Chunk) -> None:
        self._curve.add(chunk)

    def curve(self, prompts: Tally) -> Curve:
        curve = self._curve
        some = self._points([curve.largest], prompts) if curve.largest else ()
        return Curve(
            definition=self._points([1], prompts)[0].definition,
            rule_set=_CURVE_RULE,
            points=self._points(_spread(curve.largest), prompts),
            knees=self._points([curve.smallest(share) for share in KNEES], prompts) if some else (),
        )

    def _points(self, capacities: Sequence[int], prompts: Tally) -> tuple[SimulatedPoint, ...]:
        curve, most = self._curve, self._curve.hits(None)
        made = []
        for capacity, hits in zip(capacities, curve.points(capacities), strict=True):
            at = Setting(capacity, self._block_tokens)
            point = _point(self._definition, _CURVE_RULE, at, self._wanted, (hits, curve.whole), prompts)
            made.append(replace(point, share_of_most=hits / most if most else None))
        return tuple(made)


def _curve_definition(trace: Trace, wanted: Wanted) -> Definition:
    names = wanted.definitions or ("tokens" if trace.facts.ordered else "even-tokens",)
    if len(names) > 1:
        raise UsageError("--curve counts by one definition; name one")
    definition = DEFINITIONS.get(names[0])
    if definition is None or not definition.consecutive:
        known = ", ".join(name for name, one in DEFINITIONS.items() if one.consecutive)
        raise UsageError(f"--curve is over leading blocks; definitions: {known}")
    if why := _why_not(trace, None, definition):
        raise UsageError(why)
    return definition


def _spread(largest: int) -> list[int]:
    """Capacities at even distances on a logarithmic scale, and the largest."""
    steps = range(_POINTS_A_DOUBLING * max(1, largest).bit_length())
    found = {round(2 ** (step / _POINTS_A_DOUBLING)) for step in steps} | {largest}
    return sorted(capacity for capacity in found if 0 < capacity <= largest)


def _notes(trace: Trace, replays: Iterable[_Replay], own_tokens: int, wanted: Wanted) -> Iterator[str]:
    facts = trace.facts
    if facts.block_tokens != own_tokens:
        yield f"blocks of {own_tokens} tokens regrouped to {facts.block_tokens}"
    if not facts.has_partial_blocks and facts.ordered:
        yield f"only full blocks of {facts.block_tokens} tokens are known; what is behind the last one counts as missed"
    if not facts.ordered:
        yield "parts of prompts are taken for blocks: each by its text, as a leading block by all in front of it too"
    rules = {replay.rule.name: replay.rule for replay in replays}
    for rule in rules.values():
        if note := step_note(rule, facts):
            yield note
        if rule.note:
            yield f"{rule.name}: {rule.note}"
    if wanted.memory is not None:
        yield from wanted.memory.notes
    if wanted.replicas > 1 and wanted.policy is not None:
        yield f"capacities are of one replica, each of the {wanted.replicas} has as much"
        if needs_time(wanted.policy):
            yield (
                f"policy {wanted.policy} weighs requests in flight; here they come one after another, and every "
                "replica looks idle"
            )


def _result(
    trace: Trace,
    wanted: Wanted,
    rows: Sequence[SimulatedPoint],
    curve: _CurveReplay | None,
    sums: _Sums,
    notes: Sequence[str],
) -> SimulateResult:
    only: dict[str, Any] = {name: getattr(rows[0], name) for name in _OF_ONLY_ROW} if len(rows) == 1 else {}
    return SimulateResult(
        trace=trace.facts.path,
        format=trace.facts.format,
        **only,
        block_size=trace.facts.block_tokens,
        trace_requests=sums.requests,
        trace_blocks=sums.blocks,
        trace_distinct_blocks=sums.distinct_blocks,
        kv_bytes_per_token=None if wanted.memory is None else wanted.memory.bytes_per_token,
        rows=tuple(rows),
        curve=None if curve is None else curve.curve(sums.prompts),
        notes=tuple(notes),
        records=_record_sums(trace.records()),
    )


def _record_sums(records: Records) -> RecordSums:
    return RecordSums(
        read=records.read,
        used=records.used,
        damaged=records.damaged,
        repeated=records.repeated,
        skipped=records.skipped,
        remarks=records.remarks,
    )
