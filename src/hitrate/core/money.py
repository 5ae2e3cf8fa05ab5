"""Prices and what a call costs at them. Amounts are US dollars, prices US dollars per million tokens."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from hitrate.core.model import Usage


class Price(Struct, frozen=True, kw_only=True):
    """`None` is not known; a cached price that is not known is not taken to be the input price."""

    input_usd_per_mtok: float | None = None
    cached_usd_per_mtok: float | None = None
    written_usd_per_mtok: float | None = None
    output_usd_per_mtok: float | None = None
    source: str = ""

    @property
    def known(self) -> bool:
        return self.input_usd_per_mtok is not None


def call_cost(usage: Usage, price: Price) -> float | None:
    """Dollars for one call, or None when a token count or a price that it needs is not known.

    Cached tokens are billed at the cached price, written ones at the write price (at the input price where none is
    listed: most vendors bill no premium), the rest of the prompt at the input price.
    """
    if price.input_usd_per_mtok is None or usage.prompt_tokens is None or usage.accounting_fault:
        return None
    cached = usage.cached_tokens or 0
    written = usage.written_tokens or 0
    if cached and price.cached_usd_per_mtok is None:
        return None
    output = usage.output_tokens or 0
    if output and price.output_usd_per_mtok is None:
        return None
    write_price = price.input_usd_per_mtok if price.written_usd_per_mtok is None else price.written_usd_per_mtok
    fresh = usage.prompt_tokens - cached - written
    micro_usd = fresh * price.input_usd_per_mtok + written * write_price
    micro_usd += cached * (price.cached_usd_per_mtok or 0.0) + output * (price.output_usd_per_mtok or 0.0)
    return micro_usd / 1e6


def total_cost(usages: Iterable[Usage], price: Price) -> float | None:
    """Dollars for all calls; None as soon as one of them cannot be priced."""
    total = 0.0
    for usage in usages:
        cost = call_cost(usage, price)
        if cost is None:
            return None
        total += cost
    return total


def upper_bound(prompt_tokens: int, output_tokens: int, price: Price) -> float | None:
    """Dollars at most, as if nothing came from cache: the figure to show before a run."""
    return call_cost(Usage(prompt_tokens=prompt_tokens, output_tokens=output_tokens), price)
