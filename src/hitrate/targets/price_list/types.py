"""The classes that the list of genai-prices is written in, as far as a price needs them.

The list imports all of them from the module `types` beside it. Names, members and what matches what are therefore the
package's; a member that is unknown here fails, and the package itself is asked. Amounts stay as the list has them.
"""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import Any, Protocol

from msgspec import Struct


class Match(Protocol):
    def is_match(self, text: str) -> bool:
        """`text` is in lower case."""
        ...


class ClauseEquals(Struct):
    equals: str

    def is_match(self, text: str) -> bool:
        return text == self.equals.lower()


class ClauseStartsWith(Struct):
    starts_with: str

    def is_match(self, text: str) -> bool:
        return text.startswith(self.starts_with.lower())


class ClauseEndsWith(Struct):
    ends_with: str

    def is_match(self, text: str) -> bool:
        return text.endswith(self.ends_with.lower())


class ClauseContains(Struct):
    contains: str

    def is_match(self, text: str) -> bool:
        return self.contains.lower() in text


class ClauseRegex(Struct):
    regex: str

    def is_match(self, text: str) -> bool:
        return re.search(self.regex, text) is not None


class ClauseOr(Struct):
    or_: list[Match]

    def is_match(self, text: str) -> bool:
        return any(clause.is_match(text) for clause in self.or_)


class ClauseAnd(Struct):
    and_: list[Match]

    def is_match(self, text: str) -> bool:
        return all(clause.is_match(text) for clause in self.and_)


class Tier(Struct):
    start: int
    price: Decimal


class TieredPrices(Struct):
    base: Decimal
    tiers: list[Tier]

    def __post_init__(self) -> None:
        self.tiers.sort(key=lambda tier: tier.start)


class ModelPrice:
    """Amounts by name; which names there are is the list's affair."""

    def __init__(self, **amounts: Decimal | TieredPrices | None) -> None:
        self.__dict__.update(amounts)


class StartDateConstraint(Struct):
    start_date: datetime.date

    def active(self, at: datetime.datetime) -> bool:
        """`at` has a zone, as everywhere in hitrate."""
        return at.astimezone(datetime.UTC).date() >= self.start_date


class TimeOfDateConstraint(Struct):
    """Hours of a day; those of an end before the start reach past midnight."""

    start_time: datetime.time
    end_time: datetime.time

    def active(self, at: datetime.datetime) -> bool:
        now = at.astimezone(datetime.UTC).timetz()
        start, end = _in_utc(self.start_time), _in_utc(self.end_time)
        return start <= now < end if start <= end else now >= start or now < end


def _in_utc(time: datetime.time) -> datetime.time:
    if time.tzinfo is None:
        return time.replace(tzinfo=datetime.UTC)
    return datetime.datetime.combine(datetime.date(2000, 1, 1), time).astimezone(datetime.UTC).timetz()


Constraint = StartDateConstraint | TimeOfDateConstraint


class ConditionalPrice(Struct):
    prices: ModelPrice
    constraint: Constraint | None = None


class PriceVariant(Struct):
    when: dict[str, str]
    prices: ModelPrice
    constraint: Constraint | None = None


class ModelInfo(Struct):
    id: str
    match: Match
    prices: ModelPrice | list[ConditionalPrice]
    name: str | None = None
    description: str | None = None
    context_window: int | None = None
    price_comments: str | None = None
    deprecated: bool | None = None
    price_variants: list[PriceVariant] | None = None


class Provider(Struct):
    id: str
    name: str
    api_pattern: str
    pricing_urls: list[str] | None = None
    description: str | None = None
    price_comments: str | None = None
    model_match: Match | None = None
    provider_match: Match | None = None
    extractors: list[None] | None = None
    fallback_model_providers: list[str] | None = None
    models: list[ModelInfo] = []


def UsageExtractor(**members: Any) -> None:
    """How the package reads a reply's usage: left out, as are the parts of it."""


UsageExtractorMapping = ArrayMatch = UsageExtractor
