"""What is to be replayed: what was asked for, and the single points that this makes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice, product

from msgspec import Struct

from hitrate.core.kv_memory import GIB, KvMemory
from hitrate.core.limits import MOST_REPLICAS
from hitrate.core.money import Price
from hitrate.core.numerals import counted
from hitrate.core.simulation_results import Goal
from hitrate.core.trace import Replayable
from hitrate.errors import UsageError
from hitrate.sim.capacity.definitions import DEFINITIONS, Definition
from hitrate.sim.capacity.interface import SteppedCache
from hitrate.sim.capacity.kernel import Kernel, check_kernel
from hitrate.sim.capacity.rules import BlockRule, Setting, block_rule, step_note
from hitrate.sim.policies.registry import make_policy
from hitrate.sim.timing.engine_timing import EngineTiming
from hitrate.simulating.money import price_steps

MOST_POINTS = 10_000
"""Rows of one replay."""
MOST_BLOCKS = 10**12
"""Of one replica; compiled rules count those of a fleet in 64 bits."""

_DEFAULT_POLICY = "round-robin"


class Last(Struct, frozen=True):
    """The part of the requests, from the end, that is counted; those before it fill the cache."""

    share: float | None = None
    requests: int | None = None

    def first(self, requests: int) -> int:
        """Number of the first one counted, of so many."""
        if self.requests is not None:
            return max(0, requests - self.requests)
        return 0 if self.share is None else math.floor(requests * (1 - self.share))

    def of(self, requests: int) -> Last:
        """The part that there is of so many."""
        return self if self.requests is None else Last(requests=min(self.requests, requests))

    def __str__(self) -> str:
        return (
            f"last {100 * self.share:g} %"
            if self.share is not None
            else f"last {counted(self.requests or 0, 'request')}"
        )


class Store(Struct, frozen=True):
    """A cache that all replicas share, behind their own ones: blocks that these do not have come from it."""

    blocks: int | None
    """None is no limit."""
    transfer_s_per_token: float = 0.0
    """What a token takes from it to a replica, in virtual time."""


class Wanted(Struct, frozen=True, kw_only=True):
    """What is to be replayed: every rule with every capacity, lifetime, number of replicas and policy, counted by every
    definition."""

    rules: tuple[str, ...] = ("vllm",)
    definitions: tuple[str, ...] = ()
    """None: tokens, or what the rule can count instead."""
    capacities: tuple[int | None, ...] = ()
    """In blocks, of one replica; None is no limit."""
    gib: tuple[float, ...] = ()
    """Further capacities; they need `memory`."""
    memory: KvMemory | None = None
    ttls_s: tuple[float | None, ...] = (None,)
    block_size: int | None = None
    last: Last | None = None
    curve: bool = False
    replicas: tuple[int, ...] = (1,)
    policies: tuple[str, ...] = ()
    """Left out: round robin. One replica needs none."""
    stores_gib: tuple[float | None, ...] = (None,)
    """Of a store behind all replicas: None is no store, infinity one without a limit; others need `memory`."""
    store_bytes_per_s: float | None = None
    """To one replica; needs `memory`. None: transfers take no time."""
    seed: int = 0
    kernel: Kernel = "auto"
    timing: EngineTiming | None = None
    """Of a replica's engine; None replays requests one after another."""
    timing_name: str | None = None
    timed_prompt_tokens: int | None = None
    """Of the longest prompt that the engine was measured with."""
    arrival_rate: float = 1.0
    """Times as fast as in the trace do requests arrive."""
    goal: Goal | None = None
    price: Price | None = None
    """Of a vendor."""
    usd_per_gpu_hour: float | None = None
    gpus_per_replica: int = 1
    plan: bool = True
    """Whether rows that can be deployed are weighed against each other."""


class Point(Struct, frozen=True, kw_only=True):
    """One cache, or one fleet of them, counted in one way. Small and picklable: the unit that work is shared out in."""

    rule: str
    definition: str
    capacity: int | None
    """Blocks of one replica."""
    ttl_s: float | None = None
    replicas: int = 1
    policy: str | None = None
    seed: int = 0
    kernel: Kernel = "auto"
    timing: EngineTiming | None = None
    store: Store | None = None
    price_steps: tuple[int, ...] | None = None
    """Sizes that a prompt has to exceed for another price; None where nothing is billed."""


def points(facts: Replayable, wanted: Wanted) -> tuple[Point, ...]:
    """In the order of their rows. UsageError for what cannot be replayed of such a trace."""
    check_kernel(wanted.kernel)
    for policy in wanted.policies:
        make_policy(policy)
    if wanted.curve and wanted.replicas != (1,):
        raise UsageError("--curve is of one cache: leave out --replicas")
    if wanted.goal is not None and wanted.timing is None:
        raise UsageError("--slo-ttft is a goal for times: name the engine they are of with --timing")
    if wanted.store_bytes_per_s is not None and wanted.memory is None:
        raise UsageError("--store-gbps needs --model-config: a model's config.json says how large a token is")
    found = tuple(islice(_points(facts, wanted), MOST_POINTS + 1))
    if len(found) > MOST_POINTS:
        raise UsageError(
            f"more than {MOST_POINTS:,} rows are asked for, every rule with every capacity, lifetime, definition, "
            "number of replicas, policy and store: name fewer"
        )
    return found


def _points(facts: Replayable, wanted: Wanted) -> Iterator[Point]:
    sizes = [_blocks("--gib", gib, facts.block_tokens, wanted.memory) for gib in wanted.gib]
    capacities = [*map(_checked, wanted.capacities), *map(_checked, sizes)]
    if not capacities and not wanted.curve:
        capacities = [None]
    if (most := max(wanted.replicas)) > MOST_REPLICAS:
        raise UsageError(f"{most:,} replicas are more than the {MOST_REPLICAS:,} that are replayed at most")
    for name, ttl_s in product(wanted.rules, wanted.ttls_s):
        rule = block_rule(name)
        _check_rule(rule, facts, ttl_s)
        _check_stepped(rule, wanted)
        for definition, capacity in product(_definitions(facts, rule, wanted), capacities):
            for (replicas, policy), store_gib in product(_fleets(wanted), wanted.stores_gib):
                yield Point(
                    rule=name,
                    definition=definition.name,
                    capacity=capacity,
                    ttl_s=ttl_s,
                    replicas=replicas,
                    policy=policy,
                    seed=wanted.seed,
                    kernel=wanted.kernel,
                    timing=wanted.timing,
                    store=None if store_gib is None else _store(store_gib, facts.block_tokens, wanted),
                    price_steps=None if wanted.price is None or not rule.leading else price_steps(wanted.price),
                )


def _fleets(wanted: Wanted) -> Iterator[tuple[int, str | None]]:
    """A single replica once, with the policy's name where only one was named."""
    for replicas in wanted.replicas:
        if replicas == 1:
            yield 1, wanted.policies[0] if len(wanted.policies) == 1 else None
        else:
            yield from ((replicas, policy) for policy in wanted.policies or (_DEFAULT_POLICY,))


def _check_rule(rule: BlockRule, facts: Replayable, ttl_s: float | None) -> None:
    step_note(rule, facts)
    if ttl_s is not None and not rule.has_ttl:
        raise UsageError(f"--ttl: rule {rule.name} has no lifetime; vllm, leaf-lru and vendors' rule sets have")
    if rule.full_blocks and not facts.ordered:
        raise UsageError(
            f"rule {rule.name} caches full blocks of one size, which {facts.format} traces do not have; use "
            "leaf-lru, fifo, block-lru, block-lfu or optimal"
        )


def _check_stepped(rule: BlockRule, wanted: Wanted) -> None:
    """Before a long trace is read: rules that are asked request by request alone can stand behind a router."""
    fleet = any(replicas > 1 for replicas in wanted.replicas)
    behind = any(gib is not None for gib in wanted.stores_gib)
    if not fleet and not behind and wanted.timing is None:
        return
    if not isinstance(rule.make(Setting(1, 1, None, "python")), SteppedCache):
        what = "several replicas" if fleet else "a store" if behind else "an engine's time"
        raise UsageError(
            f"rule {rule.name} is of one cache by itself; {what} can be replayed with rules of engines: vllm, "
            "leaf-lru, fifo and rule sets"
        )


def _checked(blocks: int | None) -> int | None:
    if blocks is not None and blocks > MOST_BLOCKS:
        raise UsageError(
            f"a cache of {blocks:,} blocks is more than the {MOST_BLOCKS:,} that are replayed; unlimited is"
        )
    return blocks


def _store(gib: float, block_tokens: int, wanted: Wanted) -> Store:
    memory, speed = wanted.memory, wanted.store_bytes_per_s
    if gib < math.inf and memory is None:
        raise UsageError("--store-gib needs --model-config: a model's config.json says how much memory a token takes")
    limited = memory is not None and not math.isinf(gib)
    blocks = _checked(_blocks("--store-gib", gib, block_tokens, memory)) if limited else None
    return Store(blocks, memory.bytes_per_token / speed if memory is not None and speed is not None else 0.0)


def _blocks(option: str, gib: float, block_tokens: int, memory: KvMemory | None) -> int:
    if memory is None:
        raise UsageError(f"{option} needs --model-config: a model's config.json says how much memory a token takes")
    if not (blocks := memory.blocks(gib, block_tokens)):
        one = memory.bytes_per_token * block_tokens / GIB
        raise UsageError(f"{option} {gib:g} holds no block: one of {block_tokens:,} tokens takes {one:.3g} GiB")
    return blocks


def _definitions(facts: Replayable, rule: BlockRule, wanted: Wanted) -> list[Definition]:
    """Those asked for; else tokens, or what comes nearest of what the rule can count of the trace."""
    if not wanted.definitions:
        names = ("tokens", "any-block") if facts.ordered else ("even-tokens", "any-block-tokens")
        return [DEFINITIONS[name] for name in names if why_not(facts, rule, DEFINITIONS[name]) is None]
    found = []
    for name in wanted.definitions:
        if name not in DEFINITIONS:
            raise UsageError(f"no definition is called {name!r}; known: {', '.join(DEFINITIONS)}")
        if why := why_not(facts, rule, DEFINITIONS[name]):
            raise UsageError(why)
        found.append(DEFINITIONS[name])
    return found


def why_not(facts: Replayable, rule: BlockRule | None, definition: Definition) -> str | None:
    """Why the definition cannot count such a trace, or what the rule serves of it; None where it can."""
    if not facts.ordered and definition.full_size:
        return (
            f"definition {definition.name} counts blocks of one size, which {facts.format} traces do not have; "
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
