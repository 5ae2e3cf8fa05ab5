"""Sums of what calls cost and where their prompt tokens went, from which a call can be taken out again.

What became of a call may turn out otherwise when the next call of its conversation comes. Money is added as exact
decimals and whole numbers, so that taking a call out leaves what was there before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from hitrate.core.findings import LABELS, LabelSum, Waterfall
from hitrate.core.model import Usage
from hitrate.explain.paid import Paid
from hitrate.explain.waterfall import is_lost


class LabelSums:
    """A growing `core.findings.Waterfall`."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str | None], _Sum] = {}
        self._calls = self._unpriced = self._served = self._reporting = 0

    def add(self, usage: Usage, paid: Sequence[Paid]) -> None:
        self._count(usage, paid, 1)

    def take(self, usage: Usage, paid: Sequence[Paid]) -> None:
        """Take out what was added with these very values."""
        self._count(usage, paid, -1)

    def _count(self, usage: Usage, paid: Sequence[Paid], sign: int) -> None:
        if usage.prompt_tokens is None:
            return
        self._calls += sign
        if usage.hit_rate is not None:
            self._reporting += sign * usage.prompt_tokens
            self._served += sign * (usage.cached_tokens or 0)
        for one in paid:
            key = (one.label, one.cause)
            found = self._sums.get(key)
            if found is None:
                found = self._sums[key] = _Sum()
            found.count(one, sign)
            if not found.tokens:
                del self._sums[key]
        self._unpriced += sign * any(map(_unpriced, paid))

    @property
    def lost_tokens(self) -> int:
        return sum(one.tokens for key, one in self._sums.items() if is_lost(*key))

    @property
    def lost_usd(self) -> float | None:
        """What lost tokens cost above the price of cached ones; None where no such amount is known."""
        lost = [one for key, one in self._sums.items() if is_lost(*key)]
        return None if lost and not any(one.above for one in lost) else _usd(sum(one.above_cached for one in lost))

    def waterfall(self) -> Waterfall:
        whole = sum(one.tokens for one in self._sums.values())
        ordered = sorted(self._sums.items(), key=lambda item: (LABELS.index(item[0][0]), -item[1].tokens, str(item[0])))
        return Waterfall(
            prompt_tokens=whole,
            calls=self._calls,
            hit_rate=self._served / self._reporting if self._reporting else None,
            labels=tuple(
                LabelSum(
                    label=label,
                    cause=cause,
                    tokens=one.tokens,
                    share=one.tokens / whole if whole else None,
                    usd=_usd(one.amount) if one.priced else None,
                )
                for (label, cause), one in ordered
            ),
            lost_tokens=self.lost_tokens,
            lost_usd=self.lost_usd,
            unpriced_calls=self._unpriced,
        )


class _Sum:
    """Of one label and cause. `priced` and `above` count the stretches of which that amount is known."""

    __slots__ = ("above", "above_cached", "amount", "priced", "tokens")

    def __init__(self) -> None:
        self.tokens = self.priced = self.above = 0
        self.amount = self.above_cached = Decimal(0)

    def count(self, one: Paid, sign: int) -> None:
        self.tokens += sign * one.tokens
        if one.usd is not None:
            self.priced += sign
            self.amount += sign * one.usd
        if one.above_cached_usd is not None:
            self.above += sign
            self.above_cached += sign * one.above_cached_usd


def _unpriced(one: Paid) -> bool:
    return one.above_cached is None and (one.amount is None or is_lost(one.label, one.cause))


def _usd(amount: Decimal | int) -> float:
    return float(amount)


def lost_tokens(paid: Iterable[Paid]) -> int:
    return sum(one.tokens for one in paid if is_lost(one.label, one.cause))


def lost_usd(paid: Iterable[Paid]) -> float | None:
    """None where nothing was lost, or no amount is known."""
    known = [one.above_cached_usd for one in paid if is_lost(one.label, one.cause)]
    return float(sum(one for one in known if one is not None)) if any(one is not None for one in known) else None
