import pytest

from hitrate.core.model import Usage
from hitrate.core.money import Price
from hitrate.explain.oddities.pricing import Pricing, is_inclusive

GEMINI = Price(input_usd_per_mtok=1.25, cached_usd_per_mtok=0.125, output_usd_per_mtok=10.0)
CLAUDE = Price(
    input_usd_per_mtok=3.0,
    cached_usd_per_mtok=0.3,
    written_usd_per_mtok=3.75,
    written_1h_usd_per_mtok=6.0,
    output_usd_per_mtok=15.0,
)
INCLUSIVE = Usage(
    prompt_tokens=181_340,
    cached_tokens=176_128,
    output_tokens=2_210,
    cached_source="usageMetadata.cachedContentTokenCount",
    sources={"prompt_tokens": "usageMetadata.promptTokenCount"},
)
EXCLUSIVE = Usage(
    prompt_tokens=11_000,
    cached_tokens=8_000,
    written_tokens=2_000,
    output_tokens=100,
    cached_source="usage.cache_read_input_tokens",
    sources={
        "prompt_tokens": "usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens",
        "written_tokens": "usage.cache_creation_input_tokens",
    },
)


def findings(usage, price, *, own=True, logged=None, calls=1):
    pricing = Pricing()
    for index in range(calls):
        pricing.add(index, usage, price, own=own, logged_usd=logged)
    return pricing.findings()


def test_an_inclusive_dialect():
    (found,) = findings(INCLUSIVE, GEMINI)
    assert (found.verdict, found.cause, found.call, found.voice) == (
        "pricing",
        "how-tokens-are-billed",
        None,
        "observation",
    )
    assert "The bill is $0.050631, not $0.270791; without caching it would be $0.248775." in found.summary
    assert found.advice.startswith("Bill 5,212 fresh (prompt minus cached), 176,128 cached and 2,210 output tokens")


def test_an_exclusive_dialect():
    (found,) = findings(EXCLUSIVE, CLAUDE)
    # 1,000 x 3 + 8,000 x 0.3 + 2,000 x 3.75 + 100 x 15 = 14,400 per million; the input alone and output: 4,500
    assert "The bill is $0.014400, not $0.004500; without caching it would be $0.034500." in found.summary
    assert "1,000 input tokens stand beside 8,000 cached and 2,000 written ones" in found.summary


def test_a_logged_cost_that_is_the_usual_mistake():
    (found,) = findings(INCLUSIVE, GEMINI, own=False, logged=0.270791, calls=2)
    assert (found.cause, found.voice) == ("wrong-cost-logged", "yours to change")
    assert "The log's own cost, $0.541582, is the wrong one." in found.summary
    assert found.occurrences == 2


@pytest.mark.parametrize(
    ("usage", "price", "own", "logged"),
    [
        (INCLUSIVE, GEMINI, False, None),
        (INCLUSIVE, GEMINI, False, 0.050631),
        (INCLUSIVE, GEMINI, False, 0.08),
        (EXCLUSIVE, CLAUDE, False, 0.0144),
        (INCLUSIVE, None, True, None),
        (INCLUSIVE, Price(), True, None),
        (Usage(prompt_tokens=1000, cached_tokens=0, output_tokens=5), GEMINI, True, None),
        (Usage(prompt_tokens=1000, output_tokens=5), GEMINI, True, None),
        (Usage(prompt_tokens=10, cached_tokens=400), GEMINI, True, None),
    ],
)
def test_other_logs_raise_nothing(usage, price, own, logged):
    assert findings(usage, price, own=own, logged=logged) == ()


@pytest.mark.parametrize(
    ("source", "prompt", "expected"),
    [
        ("usage.cached_tokens", "usage.prompt_tokens", True),
        (
            "usageMetadata.cachedContentTokenCount",
            "usageMetadata.promptTokenCount + usageMetadata.toolUsePromptTokenCount",
            True,
        ),
        ("usage.cache_read_input_tokens", "usage.input_tokens + usage.cache_read_input_tokens", False),
        ("usage.cacheRead", "usage.input + usage.cacheRead + usage.cacheWrite", False),
    ],
)
def test_how_a_dialect_counts(source, prompt, expected):
    usage = Usage(prompt_tokens=10, cached_tokens=5, cached_source=source, sources={"prompt_tokens": prompt})
    assert is_inclusive(usage) is expected
