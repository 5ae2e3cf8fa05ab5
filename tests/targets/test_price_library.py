"""Rules of choice on lists made here; that the package's own list still has the shape read here, on a few models."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest
from genai_prices import data_snapshot
from genai_prices.data_snapshot import DataSnapshot
from genai_prices.types import (
    ClauseEquals,
    ConditionalPrice,
    ModelInfo,
    ModelPrice,
    PriceVariant,
    Provider,
    StartDateConstraint,
    Tier,
    TieredPrices,
    TimeOfDateConstraint,
)

from hitrate.core.money import LargePrompt, Unpriced
from hitrate.targets.price_library import UnknownModel, library_price


def day(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)


def model(prices, variants=None) -> ModelInfo:
    return ModelInfo(id="m", match=ClauseEquals("m"), prices=prices, price_variants=variants)


@pytest.fixture
def listed():
    """Puts one model of one provider into the package's place."""

    def put(provider: str, info: ModelInfo) -> None:
        made = Provider(id=provider, name=provider, api_pattern="https://x", models=[info])
        data_snapshot.set_custom_snapshot(DataSnapshot(providers=[made], from_auto_update=False))

    yield put
    data_snapshot.set_custom_snapshot(None)


def at_hours(start: int, end: int, amount: str) -> ConditionalPrice:
    hours = TimeOfDateConstraint(datetime.time(start, tzinfo=datetime.UTC), datetime.time(end, tzinfo=datetime.UTC))
    return ConditionalPrice(hours, prices=ModelPrice(input_mtok=Decimal(amount)))


DEEPSEEK = [
    ConditionalPrice(prices=ModelPrice(input_mtok=Decimal("0.14"))),
    ConditionalPrice(StartDateConstraint(datetime.date(2026, 8, 17)), prices=ModelPrice(input_mtok=Decimal("0.22"))),
    ConditionalPrice(StartDateConstraint(datetime.date(2026, 9, 10)), prices=ModelPrice(input_mtok=Decimal("0.15"))),
    at_hours(1, 4, "0.3"),
    at_hours(6, 10, "0.3"),
]


@pytest.mark.parametrize(
    ("at", "usd", "since"),
    [
        ("2026-08-01T02:00", 0.14, None),  # before there were peak hours
        ("2026-08-18T12:00", 0.22, "2026-08-17"),
        ("2026-10-05T12:00", 0.15, "2026-09-10"),
        ("2026-10-05T00:59", 0.15, "2026-09-10"),
        ("2026-10-05T01:00", 0.3, None),  # a Monday, at peak
        ("2026-10-05T09:59", 0.3, None),
        ("2026-10-05T10:00", 0.15, "2026-09-10"),
        ("2026-10-04T02:00", 0.15, "2026-09-10"),  # a Sunday
        ("2026-08-22T02:00", 0.3, None),  # a Saturday before weekends were off-peak
    ],
)
def test_prices_by_day_and_hour(listed, at, usd, since):
    listed("deepseek", model(DEEPSEEK))
    found = library_price("deepseek", "m", day(at), None)
    assert (found.input_usd_per_mtok, found.since) == (usd, since)


def test_steps_by_size(listed):
    steps = TieredPrices(base=Decimal("5"), tiers=[Tier(start=272_000, price=Decimal("10"))])
    listed("openai", model(ModelPrice(input_mtok=steps, cache_read_mtok=Decimal("0.5"), output_mtok=Decimal("30"))))
    found = library_price("openai", "m", day("2026-10-05"), None)
    assert (found.input_usd_per_mtok, found.cached_usd_per_mtok, found.output_usd_per_mtok) == (5, 0.5, 30)
    assert found.above == (
        LargePrompt(above_tokens=272_000, input_usd_per_mtok=10, cached_usd_per_mtok=0.5, output_usd_per_mtok=30),
    )


VARIANTS = [
    PriceVariant(
        {"processing": "batch"},
        ModelPrice(input_mtok=Decimal("2"), output_mtok=Decimal("10")),
        StartDateConstraint(datetime.date(2026, 10, 14)),
    ),
    PriceVariant({"service_tier": "flex"}, ModelPrice(input_mtok=Decimal("1"))),
]


@pytest.mark.parametrize(
    ("tier", "at", "usd", "note"),
    [
        (None, "2026-11-01", (4, 0.4, 20), None),
        ("batch", "2026-11-01", (2, 0.4, 10), None),
        ("batch", "2026-10-01", (2, 0.4, 10), "the batch price of 2026-10-14 stands in for that of earlier calls"),
        ("flex", "2026-11-01", (1, 0.4, 20), None),
    ],
)
def test_service_tiers(listed, tier, at, usd, note):
    standard = ModelPrice(input_mtok=Decimal("4"), cache_read_mtok=Decimal("0.4"), output_mtok=Decimal("20"))
    listed("openai", model(standard, VARIANTS))
    found = library_price("openai", "m", day(at), tier)
    assert (found.input_usd_per_mtok, found.cached_usd_per_mtok, found.output_usd_per_mtok) == usd
    assert found.note == note


def test_an_unlisted_tier_is_not_billed_as_standard(listed):
    listed("openai", model(ModelPrice(input_mtok=Decimal("4"))))
    assert library_price("openai", "m", day("2026-11-01"), "priority") == Unpriced(
        "no price for service tier 'priority'"
    )


def test_unknown_models_and_providers():
    for provider, name in (("openai", "no-such-model-9"), ("crusoe", "m")):
        with pytest.raises(UnknownModel):
            library_price(provider, name, day("2026-11-01"), None)


def test_the_package_s_list():
    found = library_price("anthropic", "claude-opus-4-5", day("2025-12-08"), None)
    assert (found.input_usd_per_mtok, found.cached_usd_per_mtok, found.output_usd_per_mtok) == (5, 0.5, 25)
    assert (found.written_usd_per_mtok, found.written_1h_usd_per_mtok) == (6.25, 10)
    assert found.source.startswith("genai-prices ")
    assert found.source.endswith(": anthropic/claude-opus-4-5")
    flash = library_price("fireworks", "accounts/fireworks/models/deepseek-v4p1-flash", day("2026-11-01"), None)
    assert (flash.input_usd_per_mtok, flash.cached_usd_per_mtok) == (0.30, 0.006)


def test_prices_known_to_be_old_say_so():
    assert "2025" in (library_price("deepseek", "deepseek-chat", day("2026-11-01"), None).note or "")
