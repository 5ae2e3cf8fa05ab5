from __future__ import annotations

import datetime

import pytest

from hitrate.core.cost import Quote
from hitrate.core.model import Call, Timing, Usage
from hitrate.core.money import Price, Unpriced
from hitrate.errors import InputFileError
from hitrate.targets.prices import PriceBook, provider_of, read_user_prices, service_tier, with_documented_writes

NOW = datetime.datetime(2026, 11, 29, 12, tzinfo=datetime.UTC)
GIVEN = Price(input_usd_per_mtok=9.0, source="command line")
OWN = Price(input_usd_per_mtok=8.0, source="the log's own prices")
LISTED = Price(input_usd_per_mtok=6.0, source="fireworks /v1/models")


def call(model="accounts/fireworks/models/gpt-oss-120b", target="fireworks", at=NOW, raw_usage=None):
    timing = None if at is None else Timing(at=at.timestamp(), sent_at_s=0.0)
    usage = Usage(prompt_tokens=10)
    return Call(target=target, dialect="", body=b"", model=model, timing=timing, usage=usage, raw_usage=raw_usage)


def user_prices(tmp_path, text):
    file = tmp_path / "prices.toml"
    file.write_text(text)
    return read_user_prices(file)


MINE = """
[[price]]
target = "fireworks"
model = "accounts/fireworks/*"
input = 7.0
source = "contract"
"""


def test_the_nearest_source_wins(tmp_path):
    model = call().model
    settings = {"given": GIVEN, "user": user_prices(tmp_path, MINE), "listed": {model: LISTED}}
    sources = []
    for taken_away in (None, "given", "own", "user", "listed"):
        settings.pop(taken_away, None)
        book = PriceBook(now=NOW, **settings)
        book.own = OWN if taken_away in (None, "given") else None
        sources.append(book.quote(call()).price.source.partition(" 0.")[0])
    assert sources == ["command line", "the log's own prices", "contract", "fireworks /v1/models", "genai-prices"]


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (call(model=None), "no model named"),
        (call(target="vllm"), "an engine of your own has no list price; give one with --price"),
        (call(target="crusoe"), "no price list for crusoe; give --price, or ask it with --prices-from crusoe"),
        (call(target="openai", model="gpt-99"), "no price known at openai; give it with --price or in prices.toml"),
        (
            call(target="", model="gpt-oss-120b"),
            "the log does not say who served the model; name it with --provider, or give --price",
        ),
        (
            call(raw_usage={"input_tokens_details": {"cache_write_tokens_details": {"ttl_12h_tokens": 5}}}),
            "no price of twelve-hour cache writes",
        ),
        (
            call(
                raw_usage={
                    "prompt_tokens_details": {"cached_tokens": 3},
                    "input_tokens_details": {"cache_write_tokens_details": {"ttl_12h_tokens": 5}},
                }
            ),
            "no price of twelve-hour cache writes",
        ),
        (
            call(target="anthropic", model="claude-opus-4-5", raw_usage={"service_tier": "priority"}),
            "no price for service tier 'priority'",
        ),
    ],
)
def test_why_there_is_no_price(made, reason):
    assert PriceBook(now=NOW).quote(made) == Unpriced(reason)


def test_the_seller_told_by_the_model_s_name_is_said():
    found = PriceBook(now=NOW).quote(call(target="", model="claude-opus-4-5"))
    assert isinstance(found, Quote)
    assert (found.provider, found.note) == ("anthropic", "the seller is told by the model's name")


def test_a_call_of_unknown_time_has_the_price_of_today_and_says_so():
    found = PriceBook(now=NOW).quote(call(target="anthropic", model="claude-opus-4-5", at=None))
    assert found.note == "the time of the calls is not known: prices of 2026-11-29"


@pytest.mark.parametrize("name", ["bedrock", "Bedrock", "aws"])
def test_targets_by_other_names(name):
    found = PriceBook(now=NOW).quote(call(target=name, model="us.anthropic.claude-opus-4-5-20251101-v1:0"))
    assert (found.provider, found.price.input_usd_per_mtok) == ("bedrock", 5.5)


@pytest.mark.parametrize(
    ("model", "target"),
    [
        ("claude-opus-4-5", "anthropic"),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "bedrock"),
        ("gpt-4o", "openai"),
        ("gpt-oss-120b", None),
        ("o3-mini", "openai"),
        ("gemini-2.5-pro", "gemini"),
        ("grok-4", "xai"),
        ("accounts/fireworks/models/x", "fireworks"),
        ("deepseek-v4-flash", None),
        ("llama-3.1-8b", None),
    ],
)
def test_who_sells_a_model(model, target):
    assert provider_of(model) == target


@pytest.mark.parametrize(
    ("raw", "tier"),
    [
        (None, None),
        ({"service_tier": "default"}, None),
        ({"service_tier": "standard"}, None),
        ({"service_tier": "flex"}, "flex"),
        ({"usage": {"service_tier": "priority"}}, "priority"),
        ({"service_tier": 5}, None),
    ],
)
def test_service_tier(raw, tier):
    assert service_tier(call(raw_usage=raw)) == tier


def test_claude_s_write_prices_where_a_list_leaves_them_out():
    price = Price(input_usd_per_mtok=3.0, cached_usd_per_mtok=0.3, written_usd_per_mtok=3.75)
    found = with_documented_writes(price, "claude-x")
    assert (found.written_usd_per_mtok, found.written_1h_usd_per_mtok) == (3.75, 6.0)
    assert found.derived == ("written_1h_usd_per_mtok",)
    assert with_documented_writes(price, "gpt-x") is price


FILE = """
[[price]]
model = "a/*"
input = 1.0

[[price]]
model = "a/b"
input = 2.0
cached = 0.2
written = 2.5
written_1h = 4.0
output = 8.0
from = 2026-09-01

[[price.above]]
tokens = 200000
input = 3.0

[[price]]
model = "a/b"
input = 0.5
tier = "batch"
"""


@pytest.mark.parametrize(
    ("model", "day", "tier", "usd"),
    [
        ("a/b", "2026-08-31", None, 1.0),
        ("a/b", "2026-09-01", None, 2.0),
        ("a/c", "2026-09-01", None, 1.0),
        ("a/b", "2026-09-01", "batch", 0.5),
        ("a/b", "2026-09-01", "flex", None),
        ("b", "2026-09-01", None, None),
    ],
)
def test_the_user_s_file(tmp_path, model, day, tier, usd):
    found = user_prices(tmp_path, FILE).find("any", model, datetime.date.fromisoformat(day), tier)
    assert (found.input_usd_per_mtok if found else None) == usd


def test_all_figures_of_the_user_s_file(tmp_path):
    found = user_prices(tmp_path, FILE).find("any", "a/b", NOW.date(), None)
    assert (found.cached_usd_per_mtok, found.written_usd_per_mtok, found.written_1h_usd_per_mtok) == (0.2, 2.5, 4.0)
    assert (found.output_usd_per_mtok, found.since, found.source) == (8.0, "2026-09-01", str(tmp_path / "prices.toml"))
    assert found.for_prompt(200_001).input_usd_per_mtok == 3.0
    assert found.for_prompt(200_001).cached_usd_per_mtok == 0.2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[price]]\nmodel = "m"\n', "Object missing required field `input` - at `$.price[0]`"),
        ('[[price]]\nmodel = "m"\ninput = -1\n', "Expected `float` >= 0.0 - at `$.price[0].input`"),
        ('[[price]]\nmodel = "m"\ninput = 1\nread = 2\n', "Object contains unknown field `read` - at `$.price[0]`"),
        ("[[price", "expected TOML: "),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path, text, message):
    with pytest.raises(InputFileError) as raised:
        user_prices(tmp_path, text)
    assert message in str(raised.value)


def test_no_file_is_no_prices(tmp_path):
    assert read_user_prices(tmp_path / "none.toml").find("t", "m", NOW.date(), None) is None
