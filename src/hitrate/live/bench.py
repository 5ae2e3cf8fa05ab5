"""The bench: one shared opening, twelve questions, cold against warm time to first token."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

from msgspec import Struct

from hitrate.core.model import Call
from hitrate.live.asker import Asker
from hitrate.live.conversation import Message, nonce
from hitrate.live.multi_turn import until_stopped

STABLE_FIRST, VARIABLE_FIRST = "stable-first", "variable-first"
ORDERS = (STABLE_FIRST, VARIABLE_FIRST)
OPENING, CONVERSATION = "opening", "conversation"
SHAPES = (OPENING, CONVERSATION)


class BenchPlan(Struct, frozen=True, kw_only=True):
    """`cold_calls` cold calls of the same prompts are spread between the warm ones of stable-first opening calls."""

    orders: tuple[str, ...] = ORDERS
    shapes: tuple[str, ...] = (OPENING,)
    calls: int = 12
    cold_calls: int = 3
    usage: bool = False
    """One more call, the last one of the first part again, for its cached beside its prompt tokens."""
    isolate: bool = True
    """Whether this run's prompts must not match those of an earlier run."""

    def parts(self) -> list[tuple[str, str]]:
        return [(order, shape) for order in self.orders for shape in self.shapes]

    @property
    def total_calls(self) -> int:
        return sum(self.calls + len(self.cold_after(order, shape)) for order, shape in self.parts()) + self.usage

    def cold_after(self, order: str, shape: str) -> set[int]:
        """Warm call numbers (from 1) that a cold call follows: evenly spread, never right after the first."""
        if self.calls < 3 or not self.isolate or (order, shape) != (STABLE_FIRST, OPENING):
            return set()
        return {2 + (self.calls - 2) * (number + 1) // (self.cold_calls + 1) for number in range(self.cold_calls)}


class Prompts:
    """The messages of one part of a bench."""

    def __init__(self, opening: str, questions: list[str], order: str, now: Callable[[], str]) -> None:
        self._opening = opening
        self._questions = questions
        self._order = order
        self._now = now
        self._history: list[Message] = []

    def question(self, call: int) -> str:
        return self._questions[(call - 1) % len(self._questions)]

    def opening_shape(self, call: int, head: str) -> list[Message]:
        """Opening and question; the variable-first order puts the time and the question above the opening."""
        if self._order == STABLE_FIRST:
            return [
                {"role": "system", "content": head + self._opening},
                {"role": "user", "content": self.question(call)},
            ]
        top = f"Time of the request: {self._now()}\nQuestion of the customer: {self.question(call)}\n\n"
        return [
            {"role": "system", "content": top + head + self._opening},
            {"role": "user", "content": "Answer the question above."},
        ]

    def conversation_shape(self, call: int, head: str) -> list[Message]:
        """The opening once, then every question so far with its answer; variable-first renews the top each call."""
        self._history.append({"role": "user", "content": self.question(call)})
        top = "" if self._order == STABLE_FIRST else f"Time of the request: {self._now()}\n\n"
        return [{"role": "system", "content": top + head + self._opening}, *self._history]

    def answered(self, call: Call) -> None:
        if call.reply is None or call.error is not None:
            self._history.pop()
        else:
            self._history.append(call.reply.message)


def roles(calls: int, cold_after: set[int]) -> Iterator[tuple[int, bool]]:
    """(call number, is it an interleaved cold one) in the order they are sent."""
    for number in range(1, calls + 1):
        yield number, False
        if number in cold_after:
            yield number, True


async def run_bench(
    asker: Asker,
    plan: BenchPlan,
    opening: str,
    questions: list[str],
    random_source: random.Random,
    now: Callable[[], str],
    session_prefix: str,
) -> list[str]:
    """Make all calls; they stand in `asker.calls` with `label` "order/shape" or "order/shape/cold" and `turn` the
    number of the call. Gives warnings. Stops early when the budget is spent or the run is cancelled."""

    async def parts() -> None:
        again: list[Callable[[], Awaitable[Call]]] = []
        for order, shape in plan.parts():
            prompts = Prompts(opening, questions, order, now)
            again.append(await _part(asker, plan, prompts, order, shape, random_source, session_prefix))
        if plan.usage:
            await again[0]()

    return await until_stopped(asker, parts())


async def _part(
    asker: Asker,
    plan: BenchPlan,
    prompts: Prompts,
    order: str,
    shape: str,
    random_source: random.Random,
    session_prefix: str,
) -> Callable[[], Awaitable[Call]]:
    """Make the calls of one order and shape; gives what asks the last one once more."""
    label = f"{order}/{shape}"
    session = f"{session_prefix}-{order}-{shape}"
    # A knob leaves the prompt as it is; without one, the first tokens have to differ from every earlier run.
    by_knob = asker.target.cold_knob is not None
    fixed = nonce(random_source) if plan.isolate else None
    isolation: dict[str, Any] = {"isolation": fixed if by_knob else None}
    head = "" if fixed is None or by_knob else f"Run {fixed}.\n"
    for number, cold in roles(plan.calls, plan.cold_after(order, shape)):
        if cold and asker.target.cold_without_markers:
            same = prompts.opening_shape(number, head)
            await asker.ask(same, session=session, turn=number, label=label + "/cold", cold=True)
            continue
        if cold:
            fresh = nonce(random_source)
            cold_head = "" if by_knob else f"Run {fresh}.\n"
            other = prompts.opening_shape(number, cold_head)
            cold_isolation = fresh if by_knob else None
            await asker.ask(other, session=session, turn=number, label=label + "/cold", isolation=cold_isolation)
            continue
        if shape == CONVERSATION:
            messages = prompts.conversation_shape(number, head)
        else:
            messages = prompts.opening_shape(number, head)
        call = await asker.ask(messages, session=session, turn=number, label=label, **isolation)
        if shape == CONVERSATION:
            prompts.answered(call)
    return partial(asker.ask, messages, session=session, turn=1, label="usage", **isolation)
