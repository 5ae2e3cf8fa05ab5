import pytest

from hitrate.core.model import Usage
from hitrate.core.money import Price, call_cost, total_cost, upper_bound

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
