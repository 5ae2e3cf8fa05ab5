"""Prices out of the package genai-prices (https://github.com/pydantic/genai-prices), which carries them with it.

Taken are its prices alone: how many tokens were cached is read by the dialects, since its own reading of replies takes
some vendors' cached tokens for fresh ones. It works offline; a newer package is a newer list. Models come from
`price_list` or, where that cannot read the list, from the package itself: in classes of the same members.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from hitrate.core.money import LargePrompt, Price, Unpriced
from hitrate.targets.price_list import price_list
from hitrate.targets.price_list.types import Constraint, ModelInfo, ModelPrice, TieredPrices

_FIELDS = {
    "input_usd_per_mtok": ("input_mtok",),
    "cached_usd_per_mtok": ("cache_read_mtok",),
    "written_usd_per_mtok": ("cache_write_5m_mtok", "cache_write_mtok"),
    "written_1h_usd_per_mtok": ("cache_write_1h_mtok",),
    "output_usd_per_mtok": ("output_mtok",),
}

_PEAK_SINCE = datetime.date(2026, 8, 17)
_WEEKENDS_OFF_PEAK_SINCE = datetime.date(2026, 8, 23)
"""DeepSeek's peak hours came with its prices of the first day, and do not count on weekends from the second on
(https://api-docs.deepseek.com/quick_start/pricing). The package knows the hours, not the days."""

_OUTDATED = {
    ("deepseek", "deepseek-chat"): "the list has this model's price of 2025",
    ("deepseek", "deepseek-reasoner"): "the list has this model's price of 2025",
}

_BATCH = "batch"


class UnknownModel(LookupError):
    """The list has no such provider, or no such model of it."""


def library_price(provider: str, model: str, at: datetime.datetime, tier: str | None) -> Price | Unpriced:
    """The price of a model at a moment and service tier; `tier` None is the standard one.

    `provider` is the package's own name for it. UnknownModel where it lists none; Unpriced where it lists the model
    but not at that tier.
    """
    seller, info, version = _find(provider, model)
    prices, since = _prices(seller, info, at)
    note = _OUTDATED.get((seller, info.id))
    if tier is not None:
        variant = _variant(info, tier)
        if variant is None:
            return Unpriced(f"no price for service tier {tier!r}")
        overrides, variant_since = variant
        prices = {**prices, **overrides}
        if variant_since is not None and at.date() < variant_since:
            note = f"the {tier} price of {variant_since} stands in for that of earlier calls"
        since = variant_since or since
    price = _price(prices)
    source = f"genai-prices {version}: {seller}/{info.id}"
    return replace(price, source=source, since=None if since is None else since.isoformat(), note=note)


def _find(provider: str, model: str) -> tuple[str, ModelInfo, str]:
    """The provider's id, the model and the version of the list. UnknownModel where it lists none."""
    # A program that has loaded the package may have put a list of its own into it.
    listed = None if "genai_prices" in sys.modules else price_list()
    if listed is None or provider not in listed:
        return _find_in_package(provider, model)
    info = listed.find(provider, model)
    if info is None:
        raise UnknownModel(f"no {model} at {provider}")
    return provider, info, listed.version


def _find_in_package(provider: str, model: str) -> tuple[str, ModelInfo, str]:
    from genai_prices import __version__
    from genai_prices.data_snapshot import get_snapshot

    try:
        found, info = get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError as error:
        raise UnknownModel(str(error)) from None
    return found.id, info, __version__  # type: ignore[return-value]  # of the same members


def _prices(
    provider: str, info: ModelInfo, at: datetime.datetime
) -> tuple[Mapping[str, Decimal | TieredPrices], datetime.date | None]:
    """The standard prices that hold at a moment, and since when where that is said. The last one that fits counts."""
    conditions = info.prices
    if not isinstance(conditions, list):
        return _amounts(conditions), None
    day = at.date()
    dated = any(_start_date(condition.constraint) for condition in conditions)
    off_peak = day < _PEAK_SINCE or (day >= _WEEKENDS_OFF_PEAK_SINCE and at.weekday() >= 5)
    for condition in reversed(conditions):
        rule = condition.constraint
        if hasattr(rule, "start_time") and provider == "deepseek" and dated and off_peak:
            continue
        if rule is None or rule.active(at):
            return _amounts(condition.prices), _start_date(rule)
    return _amounts(conditions[0].prices), None


def _variant(info: ModelInfo, tier: str) -> tuple[Mapping[str, Decimal | TieredPrices], datetime.date | None] | None:
    wanted = {"processing": _BATCH} if tier == _BATCH else {"service_tier": tier}
    for variant in info.price_variants or ():
        if variant.when == wanted:
            return _amounts(variant.prices), _start_date(variant.constraint)
    return None


def _start_date(rule: Constraint | None) -> datetime.date | None:
    return getattr(rule, "start_date", None)


def _amounts(prices: ModelPrice) -> Mapping[str, Decimal | TieredPrices]:
    return {name: amount for name, amount in vars(prices).items() if amount is not None}


def _price(prices: Mapping[str, Decimal | TieredPrices]) -> Price:
    listed = {field: _first(prices, names) for field, names in _FIELDS.items()}
    starts = {tier.start for amount in listed.values() for tier in getattr(amount, "tiers", ())}
    base: dict[str, Any] = {field: _amount(amount, 0) for field, amount in listed.items()}
    steps = tuple(
        LargePrompt(above_tokens=start, **{field: _amount(amount, start + 1) for field, amount in listed.items()})
        for start in sorted(starts)
    )
    return Price(**base, above=steps)


def _first(prices: Mapping[str, Decimal | TieredPrices], names: tuple[str, ...]) -> Decimal | TieredPrices | None:
    return next((prices[name] for name in names if name in prices), None)


def _amount(amount: Decimal | TieredPrices | None, prompt_tokens: int) -> float | None:
    if amount is None or isinstance(amount, Decimal):
        return None if amount is None else float(amount)
    above = [tier.price for tier in amount.tiers if prompt_tokens > tier.start]
    return float(above[-1] if above else amount.base)
