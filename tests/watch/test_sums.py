"""Sums that a call can be taken out of again."""

from decimal import Decimal

from hitrate.core.cost import GrowingSums, Quote, price_calls
from hitrate.core.model import Call, Usage
from hitrate.core.money import Price, bill
from hitrate.core.records import RecordCount
from hitrate.explain.labels import Labelled
from hitrate.explain.paid import price_labels
from hitrate.explain.waterfall import Waterfalls
from hitrate.watch.sums import LabelSums, lost_tokens, lost_usd

PRICE = Price(input_usd_per_mtok=3, cached_usd_per_mtok=0.3, written_usd_per_mtok=3.75, output_usd_per_mtok=15)

USAGES = [
    Usage(prompt_tokens=1000, cached_tokens=0, written_tokens=1000, output_tokens=50),
    Usage(prompt_tokens=1500, cached_tokens=1000, written_tokens=500),
    Usage(prompt_tokens=900, output_tokens=10),
    Usage(prompt_tokens=10, cached_tokens=20, output_tokens=1),
    Usage(),
]


def test_the_sums_are_those_of_hitrate_cost():
    sums = GrowingSums()
    for usage in USAGES:
        billed = bill(usage, PRICE)
        sums.add(usage, None if isinstance(billed, type(bill(Usage(), PRICE))) else billed)
    calls = [Call(target="", dialect="openai-chat", body=b"", model="m", usage=usage) for usage in USAGES]
    report = price_calls(
        calls, lambda call: Quote(price=PRICE), log="", format="", records=lambda: RecordCount().records()
    )
    found = sums.sums()
    assert {name: getattr(found, name) for name in found.__struct_fields__} == {
        name: getattr(report, name) for name in found.__struct_fields__
    }


def test_unknown_stays_unknown():
    found = GrowingSums().sums()
    assert (found.prompt_tokens, found.cached_tokens, found.hit_rate, found.usd, found.usd_saved) == (None,) * 5


def test_cached_tokens_that_turn_out_to_be_none_at_all():
    sums = GrowingSums()
    unreported = Usage(prompt_tokens=400, output_tokens=5)
    sums.add(Usage(prompt_tokens=600, cached_tokens=300), None)
    sums.add(unreported, None)
    assert (sums.hit_rate, sums.sums().not_reported) == (0.5, 1)
    sums.replace(unreported, Usage(prompt_tokens=400, cached_tokens=0, output_tokens=5))
    assert (sums.hit_rate, sums.sums().not_reported, sums.sums().calls) == (0.3, 0, 2)


HIT = Usage(prompt_tokens=1000, cached_tokens=900)
MISS = Usage(prompt_tokens=1000, cached_tokens=0)
LABELS_OF_HIT = [Labelled("served", None, 900), Labelled("new", None, 100)]
LABELS_OF_MISS = [Labelled("new", None, 200), Labelled("behind a break", "clock-in-prefix", 800)]


def test_a_waterfall_is_that_of_hitrate_explain():
    own, explains = LabelSums(), Waterfalls()
    for usage, labels in ((HIT, LABELS_OF_HIT), (MISS, LABELS_OF_MISS)):
        own.add(usage, price_labels(labels, usage, PRICE))
        explains.add(0, usage, labels, price=PRICE, session="s")
    assert own.waterfall() == explains.total()
    assert own.lost_tokens == 800
    assert own.lost_usd == float(Decimal(800) * Decimal("2.7") / 10**6)


def test_what_is_taken_out_leaves_nothing_behind():
    sums = LabelSums()
    empty = sums.waterfall()
    paid = price_labels(LABELS_OF_MISS, MISS, PRICE)
    sums.add(MISS, paid)
    assert sums.waterfall() != empty
    sums.take(MISS, paid)
    assert sums.waterfall() == empty


def test_a_loss_without_a_price_has_no_amount():
    sums = LabelSums()
    sums.add(MISS, price_labels(LABELS_OF_MISS, MISS, None))
    assert (sums.lost_tokens, sums.lost_usd, sums.waterfall().unpriced_calls) == (800, None, 1)


def test_what_one_call_lost():
    assert lost_tokens(price_labels(LABELS_OF_MISS, MISS, PRICE)) == 800
    assert lost_usd(price_labels(LABELS_OF_MISS, MISS, PRICE)) == 0.00216
    assert lost_usd(price_labels(LABELS_OF_HIT, HIT, PRICE)) is None
    assert lost_usd(price_labels(LABELS_OF_MISS, MISS, None)) is None
