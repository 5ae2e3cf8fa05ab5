"""From the calls of a run and their expectations to its result."""

from __future__ import annotations

from collections.abc import Sequence

from hitrate.core.model import Call
from hitrate.core.results import Aggregate, BenchRow, PadRow, PerTurn, TurnRow, Verdict
from hitrate.explain.turns.granularity import infer_granularity
from hitrate.explain.turns.history import Observation
from hitrate.explain.turns.rows import Expected, RuleFacts, aggregate, bench_row, pad_row, turn_row
from hitrate.explain.turns.verdict import TargetFacts, judge, per_turn

RUN_LABELS = ("sequential", "parallel")


def session_number(call: Call) -> int:
    """The number at the end of the names that runs give their sessions."""
    tail = call.session.rpartition("-")[2]
    return int(tail) if tail.isdecimal() else 0


def turns(
    calls: Sequence[Call], expected: Sequence[Expected], rule: RuleFacts, facts: TargetFacts
) -> tuple[tuple[TurnRow, ...], tuple[PerTurn, ...], Aggregate, Verdict]:
    """Rows by run, session and turn, and what they say together. Calls of other labels are left out."""
    chosen = [
        (call, wish) for call, wish in zip(calls, expected, strict=True) if call.label.partition("#")[0] in RUN_LABELS
    ]
    order: dict[str, int] = {}
    for call, _ in chosen:
        order.setdefault(call.label, len(order))
    chosen.sort(key=lambda pair: (order[pair[0].label], session_number(pair[0]), pair[0].turn))
    observations = []
    answered: dict[str, Observation] = {}
    for call, wish in chosen:
        row = turn_row(call, wish, rule, run=call.label, session=session_number(call))
        observation = Observation(
            row=row,
            shared_tokens=wish.shared_tokens,
            previous=answered.get(call.session),
            sent_at_s=call.timing.sent_at_s if call.timing is not None else 0.0,
        )
        observations.append(observation)
        if row.state != "failed":
            answered[call.session] = observation
    rows = tuple(observation.row for observation in observations)
    return rows, per_turn(observations, facts), aggregate(rows), judge(observations, facts)


def pads(pairs: Sequence[tuple[int, Call]], expected: Sequence[Expected]) -> tuple[tuple[PadRow, ...], int | None, str]:
    """Rows, the step that was found (None if it cannot be told) and what was found in words. `pairs` are the padding
    and the second of the two identical calls."""
    rows = tuple(pad_row(pad, call, wish) for (pad, call), wish in zip(pairs, expected, strict=True))
    points = [
        (row.prompt_tokens, row.cached_tokens)
        for row in rows
        if row.prompt_tokens is not None and row.cached_tokens is not None
    ]
    if not points:
        return rows, None, "Cached tokens are not reported, so the granularity cannot be told."
    found = infer_granularity(points)
    return rows, found.step, found.text


def bench(
    calls: Sequence[Call], expected: Sequence[Expected], rule: RuleFacts, parts: Sequence[tuple[str, str]]
) -> tuple[tuple[BenchRow, ...], list[str]]:
    """One row for each order and shape that has calls, and the warnings."""
    rows, warnings = [], []
    for order, shape in parts:
        label = f"{order}/{shape}"
        chosen = [(c, e) for c, e in zip(calls, expected, strict=True) if c.label.removesuffix("/cold") == label]
        if not chosen:
            continue
        row, said = bench_row(order, shape, [call for call, _ in chosen], [wish for _, wish in chosen], rule)
        rows.append(row)
        warnings += said
    return tuple(rows), warnings
