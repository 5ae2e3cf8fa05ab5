"""Adds labels up: tokens, share and money per label and cause, for a whole log and for each session of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from hitrate.core.findings import LABELS, LabelSum, SessionWaterfall, Waterfall
from hitrate.core.model import Usage
from hitrate.core.money import Price
from hitrate.explain.labels import Labelled, served_whole
from hitrate.explain.paid import Amount, Paid, TwoRates, dollars, price_labels, two_rates

MOST_CALLS_LISTED = 1000
"""Calls that a session lists one by one."""

_LOST = {"behind a break", "below granularity", "expired", "routed or evicted", "not marked", "key changed"}


def is_lost(label: str, cause: str | None) -> bool:
    """Whether tokens of this label count as lost: only where a finding says by what cause. An opening that another
    model had, or that was sent long ago, is nobody's fault, nor is mere rounding."""
    return cause is not None and label in _LOST


class _Sum:
    """Tokens and money of one label and cause; the money is over those tokens whose price is known."""

    __slots__ = ("above_cached", "amount", "tokens")

    def __init__(self) -> None:
        self.tokens = 0
        self.amount: Amount | None = None
        self.above_cached: Amount | None = None

    def count(self, tokens: int, amount: Amount | None, above_cached: Amount | None) -> None:
        self.tokens += tokens
        if amount is not None:
            self.amount = amount + (self.amount or 0)
        if above_cached is not None:
            self.above_cached = above_cached + (self.above_cached or 0)


class _UsualSum:
    """Calls that were served all they could be but for some tokens of steps that were not whole, at one price."""

    __slots__ = ("calls", "prompt_tokens", "rounded_tokens", "served_tokens")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.calls = self.prompt_tokens = self.served_tokens = self.rounded_tokens = 0


class _Growing:
    """A growing `Waterfall`."""

    __slots__ = ("calls", "reporting_tokens", "served_tokens", "sums", "unpriced_calls", "usual", "without_cause")

    def __init__(self) -> None:
        self.calls = self.unpriced_calls = self.reporting_tokens = self.served_tokens = 0
        self.sums: defaultdict[tuple[str, str | None], _Sum] = defaultdict(_Sum)
        self.without_cause: dict[tuple[str, TwoRates], int] = {}
        """Tokens by label and rates, which are priced when all are counted."""
        self.usual: dict[TwoRates, _UsualSum] = {}

    def add(self, usage: Usage, paid: Iterable[Paid]) -> None:
        self.calls += 1
        if usage.hit_rate is not None:
            self.reporting_tokens += usage.prompt_tokens or 0
            self.served_tokens += usage.cached_tokens or 0
        priced = True
        for one in paid:
            self.sums[one.label, one.cause].count(one.tokens, one.amount, one.above_cached)
            if one.above_cached is None and (one.amount is None or is_lost(one.label, one.cause)):
                priced = False
        self.unpriced_calls += not priced

    def count(self, usage: Usage, labels: Iterable[Labelled], rates: TwoRates) -> None:
        """`add` for a call of `two_rates` whose labels have no cause."""
        self.calls += 1
        self.reporting_tokens += usage.prompt_tokens or 0
        self.served_tokens += usage.cached_tokens or 0
        counted = self.without_cause
        for label, _, tokens in labels:
            key = label, rates
            counted[key] = counted.get(key, 0) + tokens

    def _priced(self) -> dict[tuple[str, str | None], _Sum]:
        """All that was counted, by label and cause."""
        for rates, usual in self.usual.items():
            if not usual.calls:
                continue
            for label, _, tokens in served_whole(usual.prompt_tokens, usual.served_tokens, usual.rounded_tokens):
                self._price(label, rates, tokens)
            self.calls += usual.calls
            self.reporting_tokens += usual.prompt_tokens
            self.served_tokens += usual.served_tokens
            usual.clear()
        for (label, rates), tokens in self.without_cause.items():
            self._price(label, rates, tokens)
        self.without_cause.clear()
        return self.sums

    def _price(self, label: str, rates: TwoRates, tokens: int) -> None:
        amount = tokens * (rates.cached if label == "served" else rates.fresh)
        self.sums[label, None].count(tokens, amount, amount - tokens * rates.cached)

    def merge(self, other: _Growing) -> None:
        sums = other._priced()
        self.calls += other.calls
        self.unpriced_calls += other.unpriced_calls
        self.reporting_tokens += other.reporting_tokens
        self.served_tokens += other.served_tokens
        for key, one in sums.items():
            self.sums[key].count(one.tokens, one.amount, one.above_cached)

    def waterfall(self) -> Waterfall:
        sums = self._priced()
        prompt_tokens = sum([one.tokens for one in sums.values()])
        lost = [one for key, one in sums.items() if is_lost(*key)]
        above = [one.above_cached for one in lost if one.above_cached is not None]
        return Waterfall(
            prompt_tokens=prompt_tokens,
            calls=self.calls,
            hit_rate=self.served_tokens / self.reporting_tokens if self.reporting_tokens else None,
            labels=tuple(
                [
                    LabelSum(
                        label=label,
                        cause=cause,
                        tokens=one.tokens,
                        share=one.tokens / prompt_tokens if prompt_tokens else None,
                        usd=dollars(one.amount),
                    )
                    for (label, cause), one in sorted(sums.items(), key=_largest_first)
                ]
            ),
            lost_tokens=sum([one.tokens for one in lost]),
            lost_usd=dollars(sum(above)) if above or not lost else None,
            unpriced_calls=self.unpriced_calls,
        )


class _Session:
    __slots__ = ("calls", "growing")

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.growing = _Growing()

    def list(self, index: int) -> None:
        if len(self.calls) < MOST_CALLS_LISTED:
            self.calls.append(index)


class UsualCalls:
    """Those calls of a session that lost nothing and have no written tokens, the most usual ones by far."""

    __slots__ = ("_price", "_session", "_sum")

    def __init__(self, session: _Session) -> None:
        self._session = session
        self._price: Price | None = None
        self._sum: _UsualSum | None = None
        """What is counted at that price, None where it is not one for cached and one for fresh tokens."""

    def count(self, index: int, usage: Usage, rounded: int, price: Price | None) -> None:
        """A call whose labels are those of `labels.served_whole`; prompt and cached tokens are known."""
        prompt, cached, own = usage.prompt_tokens or 0, usage.cached_tokens or 0, self._session
        if price is None or price.above or price is not self._price:
            self._price, self._sum = price, self._sum_at(price, usage)
        counted = self._sum
        if counted is None:
            own.growing.add(usage, price_labels(served_whole(prompt, cached, rounded), usage, price))
        else:
            counted.calls += 1
            counted.prompt_tokens += prompt
            counted.served_tokens += cached
            counted.rounded_tokens += rounded
        own.list(index)

    def _sum_at(self, price: Price | None, usage: Usage) -> _UsualSum | None:
        rates = two_rates(usage, price)
        if rates is None:
            return None
        sums = self._session.growing.usual
        if rates not in sums:
            sums[rates] = _UsualSum()
        return sums[rates]


class Waterfalls:
    """The waterfall of a log and of each of its sessions. Keeps sums, and the numbers of a session's first calls."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = {}

    def add(
        self, index: int, usage: Usage, labels: Iterable[Labelled], *, price: Price | None, session: str
    ) -> Sequence[Paid]:
        """Count a call in, and give what its labels cost. Nothing is counted of a call without prompt tokens."""
        if usage.prompt_tokens is None:
            return ()
        paid = price_labels(labels, usage, price)
        own = self._session(session)
        own.list(index)
        own.growing.add(usage, paid)
        return paid

    def count(self, index: int, usage: Usage, labels: Iterable[Labelled], *, price: Price | None, session: str) -> None:
        """The same for labels without a cause, of which nobody asks what they cost."""
        rates = two_rates(usage, price)
        if rates is None:
            self.add(index, usage, labels, price=price, session=session)
        else:
            own = self._session(session)
            own.list(index)
            own.growing.count(usage, labels, rates)

    def usual(self, session: str) -> UsualCalls:
        """To count calls of that session that lost nothing."""
        return UsualCalls(self._session(session))

    def _session(self, name: str) -> _Session:
        own = self._sessions.get(name)
        if own is None:
            own = self._sessions[name] = _Session()
        return own

    def total(self) -> Waterfall:
        total = _Growing()
        for own in self._sessions.values():
            total.merge(own.growing)
        return total.waterfall()

    def by_session(self) -> tuple[SessionWaterfall, ...]:
        """In the order of their first calls, which need not be the one they were added in."""
        listed = sorted(self._sessions.items(), key=lambda item: min(item[1].calls))
        return tuple(
            SessionWaterfall(session=name, calls=tuple(sorted(own.calls)), waterfall=own.growing.waterfall())
            for name, own in listed
        )


_RANK = {label: place for place, label in enumerate(LABELS)}


def _largest_first(item: tuple[tuple[str, str | None], _Sum]) -> tuple[int, int, str]:
    (label, cause), one = item
    return _RANK[label], -one.tokens, cause or ""
