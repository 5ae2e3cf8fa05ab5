"""Prices and what a call costs at them. Amounts are US dollars, prices US dollars per million tokens.

Amounts are added up as decimals, exactly, and become floats once, at the end: so a bill comes out to the digit however
many calls it has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from hitrate.core.model import Usage

_MILLION = Decimal(1_000_000)


class LargePrompt(Struct, frozen=True, kw_only=True):
    """Prices of a whole call whose prompt is longer than `above_tokens`; None keeps the price of shorter ones.

    Vendors with such steps bill all tokens of the call at the higher price, not only those above the step
    (https://ai.google.dev/gemini-api/docs/pricing, https://developers.openai.com/api/docs/pricing).
    """

    above_tokens: int
    input_usd_per_mtok: float | None = None
    cached_usd_per_mtok: float | None = None
    written_usd_per_mtok: float | None = None
    written_1h_usd_per_mtok: float | None = None
    output_usd_per_mtok: float | None = None


class Price(Struct, frozen=True, kw_only=True):
    """`None` is not known; a cached price that is not known is not taken to be the input price."""

    input_usd_per_mtok: float | None = None
    cached_usd_per_mtok: float | None = None
    written_usd_per_mtok: float | None = None
    """Tokens written to the cache for the vendor's usual lifetime (five minutes, at OpenAI thirty)."""
    written_1h_usd_per_mtok: float | None = None
    output_usd_per_mtok: float | None = None
    storage_usd_per_mtok_hour: float | None = None
    """Holding an explicit cache object (Gemini)."""
    above: tuple[LargePrompt, ...] = ()
    """Steps by size of the prompt, the lowest first."""
    derived: tuple[str, ...] = ()
    """Names of the fields that no list shows and that were worked out from the vendor's documented factor."""
    source: str = ""
    since: str | None = None
    """The day, as YYYY-MM-DD, from which this price holds, where the source says so."""
    note: str | None = None
    """What to know before trusting it."""

    @property
    def known(self) -> bool:
        return self.input_usd_per_mtok is not None

    def for_prompt(self, prompt_tokens: int) -> Price:
        """The price of a call with a prompt of that size."""
        found = self
        for step in self.above:
            if prompt_tokens > step.above_tokens:
                amounts = {
                    name: amount
                    for name in LargePrompt.__struct_fields__[1:]
                    if (amount := getattr(step, name)) is not None
                }
                found = replace(self, **amounts)
        return found


class Bill(NamedTuple):
    """One call or the sum of many, in dollars. `without_caching` bills every prompt token at the input price."""

    usd: Decimal = Decimal(0)
    without_caching: Decimal = Decimal(0)
    write_premium: Decimal = Decimal(0)
    """What writing cost above the input price; part of `usd`."""

    def plus(self, other: Bill) -> Bill:
        return Bill(*(mine + others for mine, others in zip(self, other, strict=True)))


class Unpriced(NamedTuple):
    """Why a call has no price, in a few words."""

    reason: str


def bill(usage: Usage, price: Price) -> Bill | Unpriced:
    """What a call costs, or why that cannot be said.

    Cached tokens are billed at the cached price, written ones at the write price of their lifetime (at the input price
    where no write price is listed: most vendors take no premium), the rest of the prompt at the input price. A call
    that reports no cached tokens is billed as if nothing came from cache, one that reports no output without output.
    """
    if usage.prompt_tokens is None:
        return Unpriced("no token counts")
    if usage.accounting_fault:
        return Unpriced("token counts that contradict each other")
    price = price.for_prompt(usage.prompt_tokens)
    if price.input_usd_per_mtok is None:
        return Unpriced("no price")
    cached, written, output = usage.cached_tokens or 0, usage.written_tokens or 0, usage.output_tokens or 0
    written_1h = min(usage.written_1h_tokens or 0, written)
    if cached and price.cached_usd_per_mtok is None:
        return Unpriced("no price of cached tokens")
    if output and price.output_usd_per_mtok is None:
        return Unpriced("no price of output tokens")
    if written_1h and price.written_1h_usd_per_mtok is None and price.written_usd_per_mtok is not None:
        return Unpriced("no price of one-hour cache writes")

    fresh_price = _exact(price.input_usd_per_mtok)
    write_price = fresh_price if price.written_usd_per_mtok is None else _exact(price.written_usd_per_mtok)
    hour_price = fresh_price if price.written_1h_usd_per_mtok is None else _exact(price.written_1h_usd_per_mtok)
    premium = (written - written_1h) * (write_price - fresh_price) + written_1h * (hour_price - fresh_price)
    output_amount = output * _exact(price.output_usd_per_mtok or 0)
    all_fresh = usage.prompt_tokens * fresh_price
    discount = cached * (fresh_price - _exact(price.cached_usd_per_mtok or 0))
    return Bill(
        usd=(all_fresh - discount + premium + output_amount) / _MILLION,
        without_caching=(all_fresh + output_amount) / _MILLION,
        write_premium=premium / _MILLION,
    )


def call_cost(usage: Usage, price: Price) -> float | None:
    """Dollars for one call as `bill` counts them, or None when they cannot be known."""
    found = bill(usage, price)
    return None if isinstance(found, Unpriced) else float(found.usd)


def total_cost(usages: Iterable[Usage], price: Price) -> float | None:
    """Dollars for all calls; None as soon as one of them cannot be priced."""
    total = Bill()
    for usage in usages:
        found = bill(usage, price)
        if isinstance(found, Unpriced):
            return None
        total = total.plus(found)
    return float(total.usd)


def upper_bound(prompt_tokens: int, output_tokens: int, price: Price) -> float | None:
    """Dollars at most, as if nothing came from cache: the figure to show before a run."""
    return call_cost(Usage(prompt_tokens=prompt_tokens, output_tokens=output_tokens), price)


def storage_cost(tokens: int, hours: float, usd_per_mtok_hour: float) -> float:
    """Dollars for holding an explicit cache object (https://ai.google.dev/gemini-api/docs/pricing)."""
    return float(tokens * _exact(hours) * _exact(usd_per_mtok_hour) / _MILLION)


def break_even_calls(input_price: float, cached_price: float, write_price: float) -> int | None:
    """After how many calls with the same prefix caching it is no dearer than sending it fresh; None if never.

    With prices relative to the input price, w for a write and r for a read, n calls inside the lifetime cost
    w + (n - 1) r with caching and n without. So n >= (w - r) / (1 - r), and at least 1. Anthropic's five-minute write
    at 1.25 and read at 0.1 pays from call 2 on (1.15 / 0.9 = 1.28), the one-hour write at 2 from call 3 (1.9 / 0.9 =
    2.11), as https://platform.claude.com/docs/en/build-with-claude/prompt-caching says too.
    """
    fresh, read, write = _exact(input_price), _exact(cached_price), _exact(write_price)
    if write <= fresh:
        return 1
    if read >= fresh:
        return None
    return math.ceil((write - read) / (fresh - read))


def scaled(amount: float, factor: float) -> float:
    """A price times a factor, without the dust of binary fractions."""
    return float(_exact(amount) * _exact(factor))


def plain(amount: float) -> str:
    """As a decimal of at most six digits, never as a power of ten: "1200000", "0.3", "0.0000125"."""
    return f"{Decimal(f'{amount:.6g}'):f}"


def in_dollars(amount: float) -> str:
    """Cents from a dollar on, below it to the millionth, and four digits of what is smaller yet."""
    if abs(amount) >= 1 or not amount:
        return f"{amount:,.2f}"
    if abs(amount) >= 1e-4:
        return f"{amount:.6f}".rstrip("0").rstrip(".")
    return f"{Decimal(f'{amount:.4g}'):f}"


def _exact(amount: float) -> Decimal:
    """0.006 as 0.006, not as the binary fraction nearest to it."""
    return Decimal(str(amount))
