"""From an opened trace and what was asked for to the result: rows, curve, notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from msgspec.structs import replace

from hitrate.core.simulation_results import SimulateResult
from hitrate.core.trace import Trace
from hitrate.sim.capacity.regrouped import Regrouped
from hitrate.sim.capacity.rules import block_rule, step_note
from hitrate.sim.policies.registry import needs_time
from hitrate.sim.sped_up import SpedUp
from hitrate.simulating.money_notes import notes_on_money
from hitrate.simulating.packed import packed
from hitrate.simulating.planning import is_planned, planned
from hitrate.simulating.rows import curve_rows, new_curve, row
from hitrate.simulating.scale_out import Scale, Watched
from hitrate.simulating.seen import SeenTrace
from hitrate.simulating.wanted import Point, Wanted, points

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


def simulate(trace: Trace, wanted: Wanted, scale: Scale | None = None) -> SimulateResult:
    """`scale`: on how much to spread, left out on nothing but this process. The result does not depend on it.

    UsageError for what cannot be replayed of this trace, InputFileError for a trace that cannot be read; see
    `Scale.replay`.
    """
    own_tokens = trace.facts.block_tokens
    if wanted.block_size not in (None, own_tokens):
        trace = Regrouped(trace, int(wanted.block_size or own_tokens))
    if wanted.arrival_rate != 1:
        trace = SpedUp(trace, wanted.arrival_rate)
    curve = new_curve(trace.facts, wanted, 0)  # what it cannot count is to be said before a long trace is read
    asked = points(trace.facts, wanted)
    with ExitStack() as kept:
        scale = kept.enter_context(scale or Scale())
        trace = seen = SeenTrace(Watched(trace, scale.watch), asked, wanted)
        first = 0
        if (last := wanted.last) is not None:
            trace = kept.enter_context(packed(trace))
            wanted = replace(wanted, last=last.of(trace.requests))
            first = last.first(trace.requests)
            curve = new_curve(trace.facts, wanted, first)
        elif scale.spreads(asked, curve) or is_planned(asked, wanted):
            trace = kept.enter_context(packed(trace))
        sums, replayed, curve = scale.replay(trace, asked, first, curve)
        rows = tuple(row(point, one, sums, trace.facts, wanted) for point, one in zip(asked, replayed, strict=True))
        plan = None
        doubt = seen.doubt_of_times()
        if is_planned(asked, wanted):
            rows, plan = planned(
                rows, asked, replayed, wanted, seen, lambda more: scale.replay(trace, more, first, None)[1]
            )
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
        trace_span_s=sums.span_s,
        price=wanted.price,
        timing=wanted.timing_name,
        arrival_rate=wanted.arrival_rate,
        rows=rows,
        plan=plan,
        warnings=(*([] if doubt is None or plan is not None else [doubt.warning]), *seen.warnings()),
        curve=None if curve is None else curve_rows(curve, sums, trace.facts, wanted),
        notes=(
            *_notes(trace, asked, own_tokens, wanted),
            *seen.notes(),
            *notes_on_money(wanted, replayed, sums.span_s),
        ),
        records=sums.records,
    )


def _notes(trace: Trace, asked: Sequence[Point], own_tokens: int, wanted: Wanted) -> Iterator[str]:
    facts = trace.facts
    if facts.block_tokens != own_tokens:
        yield f"blocks of {own_tokens} tokens regrouped to {facts.block_tokens}"
    if not facts.has_partial_blocks and facts.ordered:
        yield f"only full blocks of {facts.block_tokens} tokens are known; what is behind the last one counts as missed"
    if not facts.ordered:
        yield "parts of prompts are taken for blocks: each by its text, as a leading block by all in front of it too"
    for rule in (block_rule(name) for name in dict.fromkeys(point.rule for point in asked)):
        if note := step_note(rule, facts):
            yield note
        if rule.note:
            yield f"{rule.name}: {rule.note}"
    if wanted.memory is not None:
        yield from wanted.memory.notes
    if wanted.arrival_rate != 1:
        yield f"requests arrive {wanted.arrival_rate:g} times as fast as in the trace; lifetimes stay as they are"
    yield from _store_notes(wanted)
    yield from _fleet_notes(asked, wanted)


def _store_notes(wanted: Wanted) -> Iterator[str]:
    if any(gib is not None for gib in wanted.stores_gib):
        speed = wanted.store_bytes_per_s
        takes = "in no time" if speed is None else f"at {speed / 1e9:g} GB a second, which times show"
        yield f"what a store has comes to a replica {takes}; it evicts by the rule of the caches in front of it"


def _fleet_notes(asked: Sequence[Point], wanted: Wanted) -> Iterator[str]:
    fleets = [point for point in asked if point.replicas > 1]
    sizes = list(dict.fromkeys(point.replicas for point in fleets))
    if len(sizes) == 1:
        yield f"capacities are of one replica, each of the {sizes[0]} has as much"
    elif sizes:
        yield "capacities are of one replica, each of a fleet has as much"
    for policy in dict.fromkeys(point.policy for point in fleets if point.policy):
        if needs_time(policy) and wanted.timing is None:
            yield (
                f"policy {policy} weighs requests in flight; here they come one after another, and every "
                "replica looks idle"
            )
