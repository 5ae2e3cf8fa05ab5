"""The list read without the package finds the models and prices that the package itself finds in it."""

from __future__ import annotations

import datetime
import subprocess
import sys
from itertools import chain, cycle
from pathlib import Path

import pytest
from genai_prices import __version__, data
from genai_prices.data_snapshot import get_snapshot

from hitrate.targets import price_library, price_list
from hitrate.targets.price_library import UnknownModel, library_price
from hitrate.targets.prices import PROVIDERS

MOMENTS = [
    datetime.datetime(*moment, tzinfo=datetime.UTC)
    for moment in ((2023, 1, 1), (2025, 3, 2, 0, 30), (2025, 11, 29, 17), (2026, 9, 7, 2, 59), (2027, 1, 1, 8))
]

ODD = [
    *("", " ", "-", "/", "gpt", "claude", "claude-", "model", "no-such-model-9", "GPT-4O", "gpt-4o ", "x" * 5_000),
    *("ſ", "İ", "gpt-4\n", "gpt-5.2-20251211", "gpt-5.2-20251311", "gpt-5.2-20251211:free", "claude-opus-4-5-20251101"),
    *(
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "accounts/fireworks/models/gpt-oss-120b",
        "models/gemini-2.5-pro",
    ),
]

WRITTEN = ["{}-20260131", "x{}", "{}x", "{}-2026-01-31"]


@pytest.fixture(scope="module")
def listed():
    return price_list.PriceList(__version__, price_list._read(Path(data.__file__).parent))


def test_the_package_finds_models_by_the_rules_that_are_known():
    found = price_list.price_list()
    assert found is not None, "its files are others: where the tests below pass, put their CRC-32 into `_RULES`"
    assert found.version == __version__


def literals(clause) -> list[str]:
    """What stands in a clause, at any depth."""
    parts = chain.from_iterable(value if isinstance(value, list) else [value] for value in vars(clause).values())
    return [text for part in parts for text in ([part] if isinstance(part, str) else literals(part))]


def names_of(models) -> list[str]:
    """Every name that the list has, and each in one other writing."""
    texts = dict.fromkeys(text for info in models for text in [info.id, *literals(info.match)])
    return [*texts, *(written.format(text) for text, written in zip(texts, cycle(WRITTEN), strict=False))]


def id_in_package(provider: str, model: str) -> str | None:
    try:
        return get_snapshot().find_provider_model(model, None, provider, None)[1].id
    except LookupError:
        return None


@pytest.mark.parametrize("provider", data.providers, ids=lambda provider: provider.id)
def test_every_name_means_the_model_that_it_means_to_the_package(listed, provider):
    others = [found for found in data.providers if found.id in (provider.fallback_model_providers or ())]
    for name in [*ODD, *names_of([info for seller in (provider, *others) for info in seller.models])]:
        info = listed.find(provider.id, name)
        assert (name, None if info is None else info.id) == (name, id_in_package(provider.id, name))


def answer(provider: str, model: str, at: datetime.datetime, tier: str | None):
    try:
        return library_price(provider, model, at, tier)
    except UnknownModel:
        return None


@pytest.mark.parametrize("provider", data.providers, ids=lambda provider: provider.id)
def test_every_model_has_the_price_that_it_has_in_the_package(listed, provider, monkeypatch):
    asked = [
        (provider.id, info.id, at, tier)
        for info in provider.models
        for at in MOMENTS
        for tier in dict.fromkeys(
            [None, "priority", *(next(iter(variant.when.values())) for variant in info.price_variants or ())]
        )
    ]
    by_package = [answer(*question) for question in asked]
    monkeypatch.delitem(sys.modules, "genai_prices")
    monkeypatch.setattr(price_library, "price_list", lambda: listed)
    monkeypatch.setattr(price_library, "_find_in_package", None)
    assert [answer(*question) for question in asked] == by_package


def test_every_target_s_seller_is_listed(listed):
    assert [name for name in PROVIDERS.values() if name not in listed] == []


@pytest.mark.parametrize(
    "changed", [{"_RULES": {"types.py": 1}}, {"_RULES": {"no_such_file.py": 1}}, {"_PACKAGE": "no_such_package"}]
)
def test_another_package_is_left_to_itself(changed, monkeypatch):
    for name, value in changed.items():
        monkeypatch.setattr(price_list, name, value)
    assert price_list.price_list.__wrapped__() is None


def test_a_list_of_unknown_classes_is_left_to_the_package(monkeypatch):
    monkeypatch.delattr(price_list.types, "ClauseRegex")
    assert price_list.price_list.__wrapped__() is None


def test_a_price_is_found_without_the_package():
    code = (
        "import datetime, sys; from hitrate.targets.price_library import library_price; "
        "found = library_price('openai', 'gpt-4o', datetime.datetime.now(datetime.UTC), None); "
        "print(found.input_usd_per_mtok, 'genai_prices' in sys.modules, 'pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "2.5 False False\n"
