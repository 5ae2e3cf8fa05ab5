"""Sends the calls of a run to one target: parameters, affinity, isolation, pace, budget and refusals in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

from msgspec import Struct

from hitrate.core.model import Call
from hitrate.core.money import Price, call_cost, plain, upper_bound
from hitrate.live.client import Client
from hitrate.live.failures import refusal
from hitrate.live.pace import Pace
from hitrate.targets.dialects.interface import Dialect, Markers
from hitrate.targets.presets import Knob, Target

ADAPTABLE = ("max_tokens", "temperature")
"""Parameters that some models refuse; they are left out once they were refused by name."""

WARM_UP = "warm-up"
_WARM_UP_MESSAGES = ({"role": "user", "content": "Say yes."},)


def knob_in_words(knob: Knob) -> str:
    """E.g. "body member prompt_cache_key"."""
    return f"{'header' if knob.place == 'header' else 'body member'} {knob.name}"


def cold_in_words(target: Target) -> str | None:
    """What makes a call of this target cold while its prompt stays as it is; None where only another prompt does."""
    if target.cold_knob is not None:
        return knob_in_words(target.cold_knob)
    return "no cache breakpoints" if target.cold_without_markers else None


class BudgetSpent(Exception):
    """The next call could exceed the budget. What was measured is kept."""


class CallOptions(Struct, frozen=True, kw_only=True):
    """What the user set for every call of a run. `extra` are further body members."""

    max_tokens: int | None = 32
    temperature: float | None = 0.0
    affinity: str = "auto"
    """"auto" sends the target's own knob, "none" nothing, anything else is a body member or, with ":", a header."""
    extra: Mapping[str, Any] = {}
    budget_usd: float | None = None


class Asker:
    """One target as a run sees it. `on_call` hears of every finished call, in order of completion, and whether no
    other call is under way at that moment."""

    def __init__(
        self,
        client: Client,
        dialect: Dialect,
        target: Target,
        model: str,
        *,
        options: CallOptions,
        pace: Pace,
        price: Price | None = None,
        known_models: Sequence[str] = (),
        on_call: Callable[[Call, bool], None] = lambda call, idle: None,
    ) -> None:
        self.client = client
        self.target = target
        self.model = model
        self.price = price
        self.calls: list[Call] = []
        self.spent_usd = 0.0
        """Dollars so far, for the budget: never less than what was spent."""
        self._dialect = dialect
        self._options = options
        self._pace = pace
        self._known_models = known_models
        self._on_call = on_call
        self._dropped: set[str] = {name for name in ADAPTABLE if name in target.not_accepted}
        self._answered = False
        self._under_way = 0
        self._reserved_usd = 0.0

    @property
    def affinity_sent(self) -> str | None:
        """The knob in words, or None when none is sent."""
        knob = self._affinity_knob()
        return None if knob is None else knob_in_words(knob)

    @property
    def refused_parameters(self) -> frozenset[str]:
        """Those of `ADAPTABLE` that are left out, because the target is known to refuse them or did."""
        return frozenset(self._dropped)

    def _affinity_knob(self, wanted: str | None = None) -> Knob | None:
        wanted = wanted or self._options.affinity
        if wanted == "none":
            return None
        if wanted == "auto":
            return next(iter(self.target.affinity), None)
        return Knob("header", wanted.rstrip(":")) if wanted.endswith(":") else Knob("body", wanted)

    def with_client(self, client: Client) -> Asker:
        """The same run through another client, as with another key: its calls join these, its spending starts there."""
        other = copy(self)
        other.client = client
        return other

    async def warm_up(self) -> None:
        """One short call, so that what a server does only once is in no measured time, and a refusal is heard before
        3,000 tokens were sent. It says nothing about longer prompts: the first of those still raises."""
        await self.ask(_WARM_UP_MESSAGES, session=WARM_UP, label=WARM_UP, max_tokens=1)
        self._answered = False

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] = (),
        *,
        session: str,
        turn: int = 0,
        label: str = "",
        isolation: str | None = None,
        cold: bool = False,
        affinity: str | None = None,
        extra: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
    ) -> Call:
        """One call, whole; failures that may pass come back in the Call, others raise.

        `isolation` is the value for the target's cold knob; `cold` leaves out the cache breakpoints; `affinity`
        stands in for that of the options. Raises HitrateError when the target refuses before it has answered anything,
        and BudgetSpent before a call that would go over the budget.
        """
        # None drops a member that the wire format would add by itself (Mistral refuses stream_options).
        members: dict[str, Any] = dict.fromkeys(self.target.not_accepted) | {**self._options.extra, **(extra or {})}
        headers: dict[str, str] = {}
        knob = self._affinity_knob(affinity)
        if knob is not None:
            (headers if knob.place == "header" else members)[knob.name] = session
        cold_knob = self.target.cold_knob
        if isolation is not None and cold_knob is not None:
            (headers if cold_knob.place == "header" else members)[cold_knob.name] = isolation
        self._under_way += 1
        try:
            for _ in range(1 + len(ADAPTABLE)):
                body = self._body(messages, tools, members, max_tokens, None if cold else self.target.markers)
                most = self._most(body, max_tokens)
                self._check_budget(most)
                self._reserved_usd += most
                try:
                    await self._pace.turn()
                    call = await self.client.call(
                        body, session=session, turn=turn, label=label, headers=headers, model=self.model
                    )
                finally:
                    self._reserved_usd -= most
                if not self._drop_unaccepted(call):
                    break
        finally:
            self._under_way -= 1
        self._account(call, max_tokens)
        error = refusal(call, self.target, known_models=self._known_models)
        if error is not None and (not self._answered or call.status in (401, 403)):
            raise error
        self._answered = self._answered or call.reply is not None
        return call

    def _body(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        members: Mapping[str, Any],
        max_tokens: int | None,
        markers: Markers | None,
    ) -> bytes:
        wanted = self._options.max_tokens if max_tokens is None else max_tokens
        if wanted is not None:
            wanted = max(wanted, self.target.least_max_tokens)
        if "max_tokens" in self._dropped:
            wanted = None
        if wanted is not None and self.target.max_tokens_member != "max_tokens":
            members = {self.target.max_tokens_member: wanted, **members}
            wanted = None
        return self._dialect.build(
            model=self.model,
            messages=messages,
            tools=tools,
            stream=True,
            max_tokens=wanted,
            temperature=None if "temperature" in self._dropped else self._options.temperature,
            extra=members,
            markers=markers,
        )

    def _drop_unaccepted(self, call: Call) -> bool:
        """Whether a parameter was refused by name, is left out from now on, and the call is worth another try."""
        if call.status not in (400, 422) or not call.error:
            return False
        for name in ADAPTABLE:
            if name not in self._dropped and name in call.error and "context" not in call.error:
                self._dropped.add(name)
                return True
        return False

    def _most(self, body: bytes, max_tokens: int | None) -> float:
        """What a call may cost at most; 0 where no price is known."""
        if self.price is None:
            return 0.0
        output_tokens = max_tokens or self._options.max_tokens or 4096
        return upper_bound(len(body) // 3, output_tokens, self.price) or 0.0

    def _check_budget(self, most: float) -> None:
        """Calls under way count with the most they may cost."""
        budget = self._options.budget_usd
        if budget is not None and self.spent_usd + self._reserved_usd + most > budget:
            raise BudgetSpent(
                f"${self.spent_usd:.4f} of ${plain(budget)} spent, and the next call may cost ${most:.4f}"
            )

    def _account(self, call: Call, max_tokens: int | None) -> None:
        self.calls.append(call)
        self._on_call(call, self._under_way == 0)
        if self.price is not None and call.reply is not None:
            # A call whose cost cannot be told counts with the most it may have cost, or a budget would not hold.
            cost = call_cost(call.usage, self.price)
            self.spent_usd += self._most(call.body, max_tokens) if cost is None else cost
