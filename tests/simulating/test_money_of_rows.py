"""Bills of vendors and hours of GPUs, from sums of tokens."""

from __future__ import annotations

import pytest

from hitrate.core.money import LargePrompt, Price, Unpriced
from hitrate.sim.capacity.billed import Billed
from hitrate.simulating.money import gpu_seconds, hosted_usd, price_steps, provisioned_usd

MILLION = 1_000_000
OPENAI = Price(input_usd_per_mtok=2.0, cached_usd_per_mtok=0.5, output_usd_per_mtok=8.0)
CLAUDE = Price(
    input_usd_per_mtok=3.0,
    cached_usd_per_mtok=0.3,
    output_usd_per_mtok=15.0,
    written_usd_per_mtok=3.75,
    written_1h_usd_per_mtok=6.0,
)
GEMINI = Price(
    input_usd_per_mtok=1.0,
    cached_usd_per_mtok=0.1,
    output_usd_per_mtok=10.0,
    above=(LargePrompt(above_tokens=200_000, input_usd_per_mtok=2.0, cached_usd_per_mtok=0.2),),
)
HALF = Billed(10, 2 * MILLION, MILLION, MILLION, 0)


@pytest.mark.parametrize(
    ("price", "ttl_s", "with_caching", "without"),
    [
        (OPENAI, None, 2.0 + 0.5 + 8.0, 4.0 + 8.0),
        (CLAUDE, None, 3.75 + 0.3 + 15.0, 6.0 + 15.0),
        (CLAUDE, 300.0, 3.75 + 0.3 + 15.0, 6.0 + 15.0),
        (CLAUDE, 3600.0, 6.0 + 0.3 + 15.0, 6.0 + 15.0),
    ],
)
def test_a_bill_at_one_price(price: Price, ttl_s: float | None, with_caching: float, without: float) -> None:
    assert hosted_usd((HALF,), price, ttl_s) == (pytest.approx(with_caching), pytest.approx(without))


def test_long_prompts_have_a_price_of_their_own() -> None:
    long = Billed(1, MILLION, MILLION // 2, 0, 0)

    assert price_steps(GEMINI) == (200_000,)
    assert hosted_usd((HALF, long), GEMINI, None) == (
        pytest.approx(1.0 + 0.1 + 10.0 + 1.0 + 0.1),
        pytest.approx(2.0 + 10.0 + 2.0),
    )


def test_a_price_that_is_not_known_is_no_bill() -> None:
    price = Price(input_usd_per_mtok=1.0, output_usd_per_mtok=2.0)

    assert hosted_usd((HALF,), price, None) == (Unpriced("no price of cached tokens"), pytest.approx(4.0))
    assert hosted_usd((Billed(0, 0, 0, 0, 0),), Price(), None) == (0.0, 0.0)


def test_gpus_are_paid_for_whether_they_are_busy_or_not() -> None:
    seconds = gpu_seconds(replicas=4, gpus_per_replica=2, span_s=1800.0)

    assert (seconds, provisioned_usd(seconds, 2.5)) == (14_400.0, 10.0)
    assert (gpu_seconds(4, 2, None), provisioned_usd(None, 2.5), provisioned_usd(1.0, None)) == (None, None, None)
