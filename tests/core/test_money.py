from decimal import Decimal

import pytest

from hitrate.core.model import Usage
from hitrate.core.money import (
    Bill,
    LargePrompt,
    Price,
    Unpriced,
    bill,
    break_even_calls,
    call_cost,
    in_dollars,
    plain,
    scaled,
    storage_cost,
    total_cost,
    upper_bound,
)

FLASH = Price(input_usd_per_mtok=0.30, cached_usd_per_mtok=0.006, output_usd_per_mtok=1.20)
HALF = Price(input_usd_per_mtok=0.30, cached_usd_per_mtok=0.15)
WITH_WRITES = Price(
    input_usd_per_mtok=3.0, cached_usd_per_mtok=0.3, written_usd_per_mtok=3.75, output_usd_per_mtok=15.0
)
NO_CACHED_PRICE = Price(input_usd_per_mtok=1.0, output_usd_per_mtok=2.0)


@pytest.mark.parametrize(
    ("usage", "price", "usd"),
    [
        (Usage(prompt_tokens=1_000_000), FLASH, 0.30),
        (Usage(prompt_tokens=1_000_000, cached_tokens=900_000), FLASH, 0.0354),
        (Usage(prompt_tokens=1_000_000, cached_tokens=900_000), HALF, 0.165),
        (Usage(prompt_tokens=1000, cached_tokens=0, output_tokens=100), FLASH, 0.00042),
        (Usage(prompt_tokens=1000, cached_tokens=600, written_tokens=300, output_tokens=10), WITH_WRITES, 0.001755),
        (Usage(prompt_tokens=1000, written_tokens=1000), FLASH, 0.0003),
        (Usage(prompt_tokens=1000, cached_tokens=1), NO_CACHED_PRICE, None),
        (Usage(prompt_tokens=1000, cached_tokens=0), NO_CACHED_PRICE, 0.001),
        (Usage(prompt_tokens=1000, output_tokens=5), HALF, None),
        (Usage(), FLASH, None),
        (Usage(prompt_tokens=10), Price(), None),
        (Usage(prompt_tokens=10, cached_tokens=11), FLASH, None),
    ],
)
def test_cost_of_one_call(usage, price, usd):
    assert call_cost(usage, price) == (None if usd is None else pytest.approx(usd, abs=1e-12))


def test_a_sum_with_one_unpriced_call_is_not_known():
    known = Usage(prompt_tokens=1000)
    assert total_cost([known, known], FLASH) == pytest.approx(0.0006)
    assert total_cost([known, Usage()], FLASH) is None


def test_the_figure_before_a_run_assumes_no_reuse():
    assert upper_bound(1_000_000, 1000, FLASH) == pytest.approx(0.3012)


CLAUDE = Price(
    input_usd_per_mtok=3.0,
    cached_usd_per_mtok=0.3,
    written_usd_per_mtok=3.75,
    written_1h_usd_per_mtok=6.0,
    output_usd_per_mtok=15.0,
)
STEPS = Price(
    input_usd_per_mtok=4.0,
    cached_usd_per_mtok=0.4,
    output_usd_per_mtok=20.0,
    above=(
        LargePrompt(above_tokens=200_000, input_usd_per_mtok=6.0),
        LargePrompt(above_tokens=272_000, input_usd_per_mtok=8.0, cached_usd_per_mtok=0.8),
    ),
)


@pytest.mark.parametrize(
    ("usage", "price", "usd", "without_caching", "write_premium"),
    [
        # 90 % repeated at $0.30 a million, cached at $0.006 and at half price
        (Usage(prompt_tokens=1_000_000, cached_tokens=900_000), FLASH, "0.0354", "0.3", "0"),
        (Usage(prompt_tokens=1_000_000, cached_tokens=900_000), HALF, "0.165", "0.3", "0"),
        # a write costs more than fresh input, a one-hour write more still
        (Usage(prompt_tokens=1_000_000, cached_tokens=0, written_tokens=1_000_000), CLAUDE, "3.75", "3", "0.75"),
        (
            Usage(prompt_tokens=1_000_000, written_tokens=1_000_000, written_1h_tokens=400_000),
            CLAUDE,
            "4.65",
            "3",
            "1.65",
        ),
        # a count of one-hour writes above that of all writes cannot bill more than all
        (Usage(prompt_tokens=100, written_tokens=100, written_1h_tokens=900), CLAUDE, "0.0006", "0.0003", "0.0003"),
        # steps count the whole call, and only above the step
        (Usage(prompt_tokens=200_000, cached_tokens=100_000), STEPS, "0.44", "0.8", "0"),
        (Usage(prompt_tokens=200_001, cached_tokens=0), STEPS, "1.200006", "1.200006", "0"),
        (Usage(prompt_tokens=300_000, cached_tokens=100_000, output_tokens=10), STEPS, "1.6802", "2.4002", "0"),
    ],
)
def test_bill(usage, price, usd, without_caching, write_premium):
    assert bill(usage, price) == Bill(Decimal(usd), Decimal(without_caching), Decimal(write_premium))


@pytest.mark.parametrize(
    ("usage", "price", "reason"),
    [
        (Usage(), CLAUDE, "no token counts"),
        (Usage(prompt_tokens=10, cached_tokens=20), CLAUDE, "token counts that contradict each other"),
        (Usage(prompt_tokens=10), Price(), "no price"),
        (Usage(prompt_tokens=10, cached_tokens=1), NO_CACHED_PRICE, "no price of cached tokens"),
        (Usage(prompt_tokens=10, output_tokens=1), HALF, "no price of output tokens"),
        (
            Usage(prompt_tokens=10, written_tokens=5, written_1h_tokens=5),
            WITH_WRITES,
            "no price of one-hour cache writes",
        ),
    ],
)
def test_why_a_call_has_no_price(usage, price, reason):
    assert bill(usage, price) == Unpriced(reason)


@pytest.mark.parametrize(
    ("cached_x", "write_x", "calls"),
    [
        (0.1, 1.25, 2),  # Anthropic, five minutes
        (0.1, 2.0, 3),  # Anthropic, one hour
        (0.1, 1.0, 1),  # no premium on writes
        (0.5, 1.5, 2),  # exactly even at the second call
        (0.9, 2.0, 11),
        (1.0, 1.25, None),
    ],
)
def test_break_even(cached_x, write_x, calls):
    assert break_even_calls(3.0, cached_x * 3, write_x * 3) == calls


@pytest.mark.parametrize(("cached_x", "write_x"), [(0.1, 1.25), (0.1, 2.0), (0.25, 1.7), (0.9, 2.0)])
def test_break_even_is_the_first_call_at_which_the_sums_say_so(cached_x, write_x):
    def is_paid_back(calls):
        return write_x + (calls - 1) * cached_x <= calls

    calls = break_even_calls(1.0, cached_x, write_x)
    assert is_paid_back(calls)
    assert not is_paid_back(calls - 1)


def test_ten_thousand_calls_add_up_to_the_digit():
    usages = [Usage(prompt_tokens=7, cached_tokens=3)] * 10_000
    assert total_cost(usages, FLASH) == 0.01218


def test_storage():
    assert storage_cost(100_000, 24, 4.5) == 10.8


def test_a_price_times_a_factor_has_no_binary_dust():
    assert scaled(0.07, 1.25) == 0.0875


@pytest.mark.parametrize(
    ("amount", "text", "dollars"),
    [
        (0, "0", "0.00"),
        (1234.5, "1234.5", "1,234.50"),
        (0.0103, "0.0103", "0.0103"),
        (0.9999999, "1", "1"),
        (1.25e-05, "0.0000125", "0.0000125"),
        (3e-05, "0.00003", "0.00003"),
        (-3e-05, "-0.00003", "-0.00003"),
        (2.5e7, "25000000", "25,000,000.00"),
    ],
)
def test_amounts_are_plain_decimals(amount, text, dollars):
    assert (plain(amount), in_dollars(amount)) == (text, dollars)
