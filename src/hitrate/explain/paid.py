"""What the tokens of each label of a call cost, as the call was billed."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from hitrate.core.model import Usage
from hitrate.core.money import Price
from hitrate.explain.labels import Labelled

Amount = int | Decimal
"""Money in 1/10**18 of a dollar: integers, which add up exactly and fast, where the price is one."""

_UNITS_PER_MTOK_USD = 10**12
_UNITS_PER_USD = 10**18


class Paid(NamedTuple):
    """Tokens of one label, what they cost, and how much of that is above the price of cached tokens."""

    label: str
    cause: str | None
    tokens: int
    amount: Amount | None
    above_cached: Amount | None

    @property
    def usd(self) -> Decimal | None:
        return _usd(self.amount)

    @property
    def above_cached_usd(self) -> Decimal | None:
        return _usd(self.above_cached)


class _Rates(NamedTuple):
    """Per token; None is not known."""

    cached: Amount | None
    written_1h: Amount | None
    written: Amount | None
    fresh: Amount | None


_NO_RATES = _Rates(None, None, None, None)


class TwoRates(NamedTuple):
    """Per token, both known."""

    cached: Amount
    fresh: Amount


def two_rates(usage: Usage, price: Price | None) -> TwoRates | None:
    """The rates of a call whose tokens were all billed as cached or as fresh, at prices that are known; else None."""
    prompt, cached = usage.prompt_tokens, usage.cached_tokens
    if price is None or prompt is None or cached is None or usage.written_tokens or not 0 <= cached <= prompt:
        return None
    return _both_rates(price.for_prompt(prompt) if price.above else price)


@lru_cache(maxsize=256)
def _both_rates(price: Price) -> TwoRates | None:
    rates = _rates(price)
    return None if rates.cached is None or rates.fresh is None else TwoRates(rates.cached, rates.fresh)


def price_labels(labels: Iterable[Labelled], usage: Usage, price: Price | None) -> list[Paid]:
    """What the tokens of each label cost, as the call was billed; together the call's bill without its output.

    A prompt is billed from its front: read from the cache, written to it (one-hour entries have to stand before
    five-minute ones, https://docs.claude.com/en/docs/build-with-claude/prompt-caching), computed and not kept. Lost
    tokens were sent before, so they stand in front of new ones. Whether "not reported" tokens were billed as cached is
    not known, nor is any amount whose price is not.
    """
    labels = sorted(labels, key=_place_in_prompt)
    if price is None or usage.prompt_tokens is None or usage.accounting_fault:
        return [Paid(*one, None, None) for one in labels]
    rates = _rates(price.for_prompt(usage.prompt_tokens) if price.above else price)
    cached, written = usage.cached_tokens or 0, usage.written_tokens or 0
    served = labels[0].tokens if labels and labels[0].label == "served" else 0
    two_prices = not written and served == cached
    stretches: list[int] = []
    if not two_prices:
        written_1h = min(usage.written_1h_tokens or 0, written)
        stretches = [cached, written_1h, written - written_1h, usage.prompt_tokens - cached - written]
    found = []
    for label, cause, tokens in labels:
        if two_prices:
            rate = rates.cached if label == "served" else rates.fresh
            amount = None if rate is None else tokens * rate
        else:
            amount = _take(stretches, tokens, rates)
        if label == "not reported":
            amount = None
        above = None if amount is None or rates.cached is None else amount - tokens * rates.cached
        found.append(Paid(label, cause, tokens, amount, above))
    return found


def _place_in_prompt(one: Labelled) -> int:
    return _PLACES.get(one.label, 1)


_PLACES = {"served": 0, "new": 2}


def _take(stretches: list[int], tokens: int, rates: _Rates) -> Amount | None:
    """What the next tokens of the prompt cost; takes them off the stretches they lie in."""
    amount: Amount | None = 0
    for place, rate in enumerate(rates):
        if not tokens:
            break
        if taken := min(stretches[place], tokens):
            stretches[place] -= taken
            tokens -= taken
            amount = None if amount is None or rate is None else amount + taken * rate
    return amount


@lru_cache(maxsize=256)
def _rates(price: Price) -> _Rates:
    """Prices as `core.money.bill` applies them: no listed write price means that writes cost what input costs."""
    if price.input_usd_per_mtok is None:
        return _NO_RATES
    fresh = _per_token(price.input_usd_per_mtok)
    written, written_1h, cached = (
        None if usd is None else _per_token(usd)
        for usd in (price.written_usd_per_mtok, price.written_1h_usd_per_mtok, price.cached_usd_per_mtok)
    )
    if written is None:
        return _Rates(cached, fresh if written_1h is None else written_1h, fresh, fresh)
    return _Rates(cached, written_1h, written, fresh)


def _per_token(usd_per_mtok: float) -> Amount:
    rate = Decimal(str(usd_per_mtok)) * _UNITS_PER_MTOK_USD
    whole = int(rate)
    return whole if whole == rate else rate


def _usd(amount: Amount | None) -> Decimal | None:
    return None if amount is None else Decimal(amount) / _UNITS_PER_USD


def dollars(amount: Amount | None) -> float | None:
    """The float next to `_usd`."""
    if type(amount) is int:
        return amount / _UNITS_PER_USD
    usd = _usd(amount)
    return None if usd is None else float(usd)
