"""The models and prices that are found without the package are those that it finds itself, or it is asked.

So the tests hold with every release: of one that is not known (`_RULES`) the list is not read.
"""

from __future__ import annotations

import datetime
import subprocess
import sys
from itertools import chain, count, cycle

import pytest
from genai_prices import __version__, data

from hitrate.targets import price_library, price_list
from hitrate.targets.price_library import UnknownModel, library_price
from hitrate.targets.price_list.types import ClauseEquals, ModelInfo, ModelPrice, Provider
from hitrate.targets.prices import PROVIDERS

MOMENTS = [
    datetime.datetime(*moment, tzinfo=datetime.UTC)
    for moment in ((2023, 1, 1), (2025, 3, 2, 0, 30), (2025, 11, 29, 17), (2026, 9, 7, 2, 59), (2027, 1, 1, 8))
]

ODD = [
    "", " ", "-", "/", "gpt", "claude", "claude-", "model", "no-such-model-9", "GPT-4O", "gpt-4o ", "x" * 5_000, "ſ",
    "İ", "gpt-4\n", "gpt-5.2-20251211", "gpt-5.2-20251311", "gpt-5.2-20251211:free", "claude-opus-4-5-20251101",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "accounts/fireworks/models/gpt-oss-120b", "models/gemini-2.5-pro",
]  # fmt: skip

WRITTEN = ["{}-20260131", "x{}", "{}x", "{}-2026-01-31"]


PACKAGE_IS_ASKED = price_list.price_list() is None


@pytest.fixture
def without_the_package(monkeypatch):
    """A function that has it from then on as if the package was not loaded, nor could be where its list is read."""

    def begin():
        monkeypatch.delitem(sys.modules, "genai_prices")
        if not PACKAGE_IS_ASKED:
            monkeypatch.setattr(price_library, "_find_in_package", None)

    return begin


def test_the_list_of_a_known_release_is_read():
    assert PACKAGE_IS_ASKED or price_list.price_list().version == __version__
    known = {release for files in price_list._RULES.values() for release in files.values()}
    assert not PACKAGE_IS_ASKED or __version__ not in known


def literals(clause) -> list[str]:
    """What stands in a clause, at any depth."""
    parts = chain.from_iterable(value if isinstance(value, list) else [value] for value in vars(clause).values())
    return [text for part in parts for text in ([part] if isinstance(part, str) else literals(part))]


def names_of(models) -> list[str]:
    """Every name that the list has, and each in one other writing."""
    texts = dict.fromkeys(text for info in models for text in [info.id, *literals(info.match)])
    return [*texts, *(written.format(text) for text, written in zip(texts, cycle(WRITTEN), strict=False))]


def meant(provider: str, model: str) -> str | None:
    try:
        return price_library._find(provider, model)[1].id
    except UnknownModel:
        return None


@pytest.mark.parametrize("provider", data.providers, ids=lambda provider: provider.id)
def test_every_name_means_the_model_that_it_means_to_the_package(provider, without_the_package):
    others = [found for found in data.providers if found.id in (provider.fallback_model_providers or ())]
    names = [*ODD, *names_of([info for seller in (provider, *others) for info in seller.models])]
    by_package = {name: meant(provider.id, name) for name in names}
    without_the_package()
    assert {name: meant(provider.id, name) for name in names} == by_package


def answer(provider: str, model: str, at: datetime.datetime, tier: str | None):
    try:
        return library_price(provider, model, at, tier)
    except UnknownModel:
        return None


@pytest.mark.parametrize("provider", data.providers, ids=lambda provider: provider.id)
def test_every_model_has_the_price_that_it_has_in_the_package(provider, without_the_package):
    asked = [
        (provider.id, info.id, at, tier)
        for info in provider.models
        for at in MOMENTS
        for tier in dict.fromkeys(
            [None, "priority", *(next(iter(variant.when.values())) for variant in info.price_variants or ())]
        )
    ]
    by_package = [answer(*question) for question in asked]
    without_the_package()
    assert [answer(*question) for question in asked] == by_package


def test_what_is_not_read_the_package_is_asked(monkeypatch):
    by_package = answer("openai", "gpt-4o", MOMENTS[-1], None)
    monkeypatch.delitem(sys.modules, "genai_prices")
    monkeypatch.setattr(price_library, "price_list", lambda: None)
    assert answer("openai", "gpt-4o", MOMENTS[-1], None) == by_package
    assert "genai_prices" in sys.modules


def test_other_models_may_be_asked_for_meanwhile(monkeypatch):
    """As another thread may."""

    class AskedFor(str):
        def __hash__(self):
            listed.find("p", next(others))
            return super().__hash__()

    monkeypatch.setattr(price_list, "_MOST_KEPT", 1)
    others = map(str, count())
    model = ModelInfo(id="a", match=ClauseEquals("a"), prices=ModelPrice())
    listed = price_list.PriceList("1", [Provider(id="p", name="", api_pattern="", models=[model])])
    assert [listed.find("p", AskedFor("a")).id for _ in range(2)] == ["a", "a"]


def test_every_target_s_seller_is_listed():
    assert set(PROVIDERS.values()) - {provider.id for provider in data.providers} == set()


@pytest.mark.parametrize(
    "changed",
    [{"_RULES": {"types.py": {1: ""}}}, {"_RULES": {"no_such_file.py": {1: ""}}}, {"_PACKAGE": "no_such_package"}],
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
        "print(found.source, sys.modules.keys() & {'genai_prices', 'pydantic'} != set())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"genai-prices {__version__}: openai/gpt-4o {PACKAGE_IS_ASKED}\n"
