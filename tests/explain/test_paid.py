from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.core.findings import LABELS
from hitrate.core.model import Usage
from hitrate.core.money import LargePrompt, Price, bill
from hitrate.explain.labels import Labelled, label_tokens
from hitrate.explain.paid import price_labels

SONNET = Price(
    input_usd_per_mtok=3.0,
    cached_usd_per_mtok=0.3,
    written_usd_per_mtok=3.75,
    written_1h_usd_per_mtok=6.0,
    output_usd_per_mtok=15.0,
)
NO_PREMIUM = Price(input_usd_per_mtok=2.0, cached_usd_per_mtok=0.5)
M = 1_000_000


def usage(prompt, cached=0, written=None, **more):
    return Usage(prompt_tokens=prompt, cached_tokens=cached, written_tokens=written, **more)


@pytest.mark.parametrize(
    ("labels", "reported", "price", "paid"),
    [
        pytest.param(
            [("served", None, 2 * M), ("new", None, M)],
            usage(3 * M, 2 * M, M),
            SONNET,
            [("served", "0.6", "0"), ("new", "3.75", "3.45")],
            id="served at the cached price, the rest as written",
        ),
        pytest.param(
            [("new", None, M), ("expired", "idle", 2 * M)],
            usage(3 * M, 0, 2 * M),
            SONNET,
            [("expired", "7.5", "6.9"), ("new", "3", "2.7")],
            id="lost tokens stand in front, so they are the written ones",
        ),
        pytest.param(
            [("new", None, M), ("expired", "idle", 2 * M)],
            usage(3 * M, 0, 3 * M, written_5m_tokens=2 * M, written_1h_tokens=M),
            SONNET,
            [("expired", "9.75", "9.15"), ("new", "3.75", "3.45")],
            id="one-hour writes stand before five-minute ones",
        ),
        pytest.param(
            [("new", None, M), ("routed or evicted", None, M)],
            usage(2 * M, 0, 2 * M),
            NO_PREMIUM,
            [("routed or evicted", "2", "1.5"), ("new", "2", "1.5")],
            id="writes without a price of their own cost what input costs",
        ),
        pytest.param(
            [("served", None, M), ("behind a break", "clock", M)],
            usage(2 * M, M),
            Price(input_usd_per_mtok=2.0),
            [("served", None, None), ("behind a break", "2", None)],
            id="no cached price",
        ),
        pytest.param(
            [("new", None, M)],
            usage(M, 0, M, written_1h_tokens=M),
            Price(input_usd_per_mtok=2.0, cached_usd_per_mtok=0.2, written_usd_per_mtok=2.5),
            [("new", None, None)],
            id="no price of one-hour writes",
        ),
        pytest.param(
            [("new", None, M), ("not reported", None, M)],
            usage(2 * M, None),
            NO_PREMIUM,
            [("not reported", None, None), ("new", "2", "1.5")],
            id="what is not reported may have been cached",
        ),
        pytest.param([("new", None, M)], usage(M), None, [("new", None, None)], id="no price"),
        pytest.param(
            [("not reported", None, M)], usage(M, 2 * M), SONNET, [("not reported", None, None)], id="accounting fault"
        ),
        pytest.param(
            [("new", None, M)],
            usage(M),
            Price(input_usd_per_mtok=2.0, above=(LargePrompt(above_tokens=200_000, input_usd_per_mtok=4.0),)),
            [("new", "4", None)],
            id="a large prompt",
        ),
    ],
)
def test_prices_of_labels(labels, reported, price, paid):
    found = price_labels([Labelled(*one) for one in labels], reported, price)
    expected = [
        (label, *(None if amount is None else Decimal(amount) for amount in amounts)) for label, *amounts in paid
    ]
    assert [(one.label, one.usd, one.above_cached_usd) for one in found] == expected


counts = st.integers(0, 5000)


@given(
    cached=counts,
    written=counts,
    hour=counts,
    fresh=counts,
    reusable=counts,
    kept=counts,
    label=st.sampled_from([label for label in LABELS if label not in ("served", "new", "not reported")]),
    price=st.sampled_from([SONNET, NO_PREMIUM]),
)
def test_labels_cost_together_what_the_call_costs(cached, written, hour, fresh, reusable, kept, label, price):
    reported = usage(cached + written + fresh, cached, written, written_1h_tokens=min(hour, written))
    labels = label_tokens(
        prompt_tokens=cached + written + fresh,
        cached_tokens=cached,
        reusable_tokens=reusable,
        kept_tokens=kept,
        label=label,
        cause="some-cause",
    )
    assert sum(one.usd for one in price_labels(labels, reported, price)) == bill(reported, price).usd
