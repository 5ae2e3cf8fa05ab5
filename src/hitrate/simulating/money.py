"""What a row costs: the bill of a vendor for its tokens, and the GPUs of one's own for as long as the trace lasts."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from hitrate.core.model import Usage
from hitrate.core.money import Bill, Price, Unpriced, bill
from hitrate.sim.capacity.billed import Billed

_HOUR_S = 3600.0


def price_steps(price: Price) -> tuple[int, ...]:
    """Sizes that a prompt has to exceed for another price."""
    return tuple(sorted({step.above_tokens for step in price.above}))


def hosted_usd(
    billed: Sequence[Billed], price: Price, ttl_s: float | None
) -> tuple[float | Unpriced, float | Unpriced]:
    """With caching and without it. `billed` are by `price_steps`.

    Where a vendor bills writes, all that was not served counts as written, as if every prompt were marked to its end:
    at the one-hour price for lifetimes from an hour on.
    """
    lowest = (0, *price_steps(price))
    prices = [replace(price.for_prompt(size + 1), above=()) for size in lowest]
    return _sum(billed, prices, ttl_s, cached=True), _sum(billed, prices, ttl_s, cached=False)


def _sum(billed: Sequence[Billed], prices: Sequence[Price], ttl_s: float | None, *, cached: bool) -> float | Unpriced:
    total = Bill()
    for sums, price in zip(billed, prices, strict=True):
        if sums.requests:
            found = bill(_usage(sums, price, ttl_s, cached=cached), price)
            if isinstance(found, Unpriced):
                return found
            total = total.plus(found)
    return float(total.usd)


def _usage(sums: Billed, price: Price, ttl_s: float | None, *, cached: bool) -> Usage:
    hits = sums.hit_tokens if cached else 0
    written = sums.prompt_tokens - hits if cached and price.written_usd_per_mtok is not None else 0
    for_an_hour = ttl_s is not None and ttl_s >= _HOUR_S and price.written_1h_usd_per_mtok is not None
    return Usage(
        prompt_tokens=sums.prompt_tokens,
        cached_tokens=hits,
        written_tokens=written,
        written_1h_tokens=written if for_an_hour else 0,
        output_tokens=sums.output_tokens,
    )


def gpu_seconds(replicas: int, gpus_per_replica: int, span_s: float | None) -> float | None:
    return None if span_s is None else replicas * gpus_per_replica * span_s


def provisioned_usd(seconds: float | None, usd_per_gpu_hour: float | None) -> float | None:
    return None if seconds is None or usd_per_gpu_hour is None else seconds / _HOUR_S * usd_per_gpu_hour
