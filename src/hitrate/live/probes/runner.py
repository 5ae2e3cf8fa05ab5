"""Makes probes one after another, each answer with what it cost and what it stands on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from hitrate.core.money import Price, upper_bound
from hitrate.core.probe_results import Answer, PlannedProbe
from hitrate.explain.probing.documented import Documented, compared
from hitrate.live.asker import BudgetSpent
from hitrate.live.probes.interface import Probe
from hitrate.live.probes.lab import CannotTell, Lab
from hitrate.live.probes.registry import probe_called

REPLY_TOKENS = 1
NEEDED_AFTER_MISSES = ("replicas", "affinity")
"""Made although they were not asked for, where repeated prompts missed: no later miss means anything without them."""


def plan(names: Sequence[str], waits_s: float, price: Price) -> list[PlannedProbe]:
    """What each probe takes at most. `waits_s` is what all of them together may wait."""
    planned = []
    for name in names:
        most = probe_called(name).most(waits_s)
        tokens = most.calls * most.tokens_each
        cost = upper_bound(tokens, most.calls * REPLY_TOKENS, price) if price.known else None
        planned.append(
            PlannedProbe(probe=name, calls=most.calls, prompt_tokens=tokens, waits_s=most.waits_s, cost_usd=cost)
        )
    return planned


def planned_calls(planned: Sequence[PlannedProbe], max_calls: int) -> tuple[int, int]:
    """Calls and prompt tokens of a whole plan under a cap."""
    calls = sum(one.calls for one in planned)
    tokens = sum(one.prompt_tokens for one in planned)
    return min(calls, max_calls), tokens if calls <= max_calls else round(tokens * max_calls / calls)


async def run_probes(
    lab: Lab,
    names: Sequence[str],
    documented: Documented,
    answers: list[Answer],
    on_answer: Callable[[Answer], None] = lambda answer: None,
) -> None:
    """Adds to `answers` as they come, so that a run that is ended early keeps what it had. Raises BudgetSpent and
    CancelledError after having said so for the probe that they ended and those that were left."""
    waiting = list(names)
    while waiting:
        name = waiting.pop(0)
        try:
            made = await _one(lab, probe_called(name))
        except (BudgetSpent, asyncio.CancelledError) as end:
            spent = isinstance(end, BudgetSpent)
            reason = f"the budget was spent: {end}" if spent else "the run was interrupted"
            answers += [_unanswered(one, reason, "raise --budget" if spent else None) for one in (name, *waiting)]
            raise
        for answer in made:
            answers.append(compared(_rounded(answer), documented))
            on_answer(answers[-1])
        if name == "hidden" and any(found is False for _, found in lab.found.delay_tries) and not lab.found.settle_s:
            waiting = [one for one in NEEDED_AFTER_MISSES if one not in waiting] + waiting
            waiting.sort(key=lambda one: one not in NEEDED_AFTER_MISSES)


async def _one(lab: Lab, probe: Probe) -> list[Answer]:
    """Its answers, the first of them with the calls, the cost and the seconds of all."""
    lab.probe = probe.name
    calls, answered, seen, started = lab.calls, len(lab.answered), len(lab.observations), lab.now_s
    try:
        found = await probe.run(lab)
    except CannotTell as why:
        found = [_unanswered(probe.name, why.reason, why.advice)]
    spent = replace(
        found[0],
        calls=lab.calls - calls,
        prompt_tokens=sum(call.usage.prompt_tokens or 0 for call in lab.answered[answered:]),
        cost_usd=lab.cost_since(answered) if lab.calls > calls else None,
        seconds=round(lab.now_s - started, 3),
        observations=tuple(lab.observations[seen:]),
    )
    return [spent, *found[1:]]


def _rounded(answer: Answer) -> Answer:
    """Figures to the sixth digit: what lies behind it was not measured."""
    figures = {name: getattr(answer, name) for name in ("value", "low", "high", "p_value")}
    return replace(answer, **{name: float(f"{value:.6g}") for name, value in figures.items() if value is not None})


def _unanswered(name: str, reason: str, advice: str | None) -> Answer:
    return Answer(probe=name, status="could not tell", text=f"{reason[0].upper()}{reason[1:]}.", advice=advice)
