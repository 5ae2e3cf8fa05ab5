"""Five minutes, an hour, or keeping alive: what each would have cost over the pauses that there were.

With prices relative to the input price, a prefix of P tokens and N new ones behind it cost 0.1 P + w N after a pause
that the entry outlives and w (P + N) after one that it does not; w is 1.25 for five minutes and 2 for an hour
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching). Keeping alive reads P at 0.1 each time the five
minutes are nearly over; it is given up when the pings have cost as much as writing again does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median
from typing import NamedTuple

from hitrate.caches.marked import FIVE_MINUTES_S, ONE_HOUR_S
from hitrate.core.model import Call, Usage
from hitrate.core.whatif_results import Gaps, Lifetime

READ_X = 0.1
WRITE_5M_X = 1.25
WRITE_1H_X = 2.0
PING_EVERY_S = 270.0
MOST_PINGS = int((WRITE_5M_X - READ_X) / READ_X)
"""Eleven: some fifty minutes."""


class Step(NamedTuple):
    """A call: seconds since the conversation's call before, None for its first; tokens that one left in the cache, and
    tokens behind them. `usd_per_token` is the input price."""

    gap_s: float | None
    prefix_tokens: int
    new_tokens: int
    usd_per_token: float | None = None


def steps_of(calls: Iterable[tuple[str, Call, float | None]]) -> Iterator[Step]:
    """From (conversation, call, input price in USD per million tokens), in the order sent, by their reported counts.
    Calls without a prompt count or a time are left out."""
    last: dict[str, Call] = {}
    for conversation, call, price in calls:
        prompt = call.usage.prompt_tokens
        if prompt is None or call.timing is None or call.usage.accounting_fault:
            continue
        before = last.get(conversation)
        last[conversation] = call
        prefix = 0 if before is None else min(prompt, _left(before.usage))
        gap = None if before is None or before.timing is None else call.timing.at - before.timing.at
        yield Step(gap, prefix, prompt - prefix, None if price is None else price / 1e6)


def _left(usage: Usage) -> int:
    """Tokens that a call left in the cache: what it read and wrote, where both are reported, else its prompt."""
    if (
        usage.cached_tokens is not None
        and usage.written_tokens is not None
        and usage.written_tokens + usage.cached_tokens
    ):
        return usage.cached_tokens + usage.written_tokens
    return usage.prompt_tokens or 0


def gaps(steps: Iterable[Step]) -> Gaps | None:
    """None where there is no pause at all."""
    found = [step.gap_s for step in steps if step.gap_s is not None]
    if not found:
        return None
    within_5m = sum(gap <= FIVE_MINUTES_S for gap in found)
    within_1h = sum(FIVE_MINUTES_S < gap <= ONE_HOUR_S for gap in found)
    return Gaps(
        within_5m=within_5m, within_1h=within_1h, longer=len(found) - within_5m - within_1h, median_s=median(found)
    )


def lifetimes(steps: Iterable[Step]) -> tuple[Lifetime, ...]:
    """The three ways, the cheapest first."""
    steps = tuple(steps)
    ways = [
        _way("5m", steps, FIVE_MINUTES_S, WRITE_5M_X),
        _way("1h", steps, ONE_HOUR_S, WRITE_1H_X),
        _way("keep-alive", steps, FIVE_MINUTES_S, WRITE_5M_X, keeps_alive=True),
    ]
    return tuple(sorted(ways, key=lambda way: way.input_tokens_worth))


def _way(name: str, steps: tuple[Step, ...], ttl_s: float, write_x: float, keeps_alive: bool = False) -> Lifetime:
    worth = usd = 0.0
    priced = bool(steps)
    rewrites = pings = 0
    for step in steps:
        kept, sent = _kept(step, ttl_s, keeps_alive)
        pings += sent
        rewrites += not kept and step.gap_s is not None
        prefix = READ_X * step.prefix_tokens if kept else write_x * step.prefix_tokens
        one = READ_X * step.prefix_tokens * sent + prefix + write_x * step.new_tokens
        worth += one
        priced = priced and step.usd_per_token is not None
        usd += one * (step.usd_per_token or 0.0)
    return Lifetime(
        name=name, input_tokens_worth=round(worth), usd=usd if priced else None, rewrites=rewrites, pings=pings
    )


def _kept(step: Step, ttl_s: float, keeps_alive: bool) -> tuple[bool, int]:
    """Whether the prefix is there, and how many pings were sent for it."""
    if step.gap_s is None:
        return False, 0
    if step.gap_s <= ttl_s:
        return True, 0
    if not keeps_alive:
        return False, 0
    needed = int(step.gap_s // PING_EVERY_S)
    return needed <= MOST_PINGS, min(needed, MOST_PINGS)
