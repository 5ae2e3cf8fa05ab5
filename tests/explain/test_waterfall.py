from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.core.findings import LABELS
from hitrate.core.model import Usage
from hitrate.core.money import LargePrompt, Price, bill
from hitrate.explain.labels import Labelled, label_tokens
from hitrate.explain.waterfall import MOST_CALLS_LISTED, Waterfalls, price_labels

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


def sums(waterfall):
    return [(one.label, one.cause, one.tokens, one.share, one.usd) for one in waterfall.labels]


def test_a_log_of_two_sessions():
    waterfalls = Waterfalls()
    first = (Labelled("new", None, 1000),)
    lost = (Labelled("served", None, 1000), Labelled("new", None, 500), Labelled("expired", "idle-time", 2500))
    waterfalls.add(0, usage(1000), first, price=NO_PREMIUM, session="a")
    waterfalls.add(1, usage(1000), first, price=NO_PREMIUM, session="b")
    waterfalls.add(2, usage(4000, 1000), lost, price=NO_PREMIUM, session="a")
    waterfalls.add(3, Usage(), (), price=NO_PREMIUM, session="a")

    total = waterfalls.total()
    assert sums(total) == [
        ("served", None, 1000, 1000 / 6000, 0.0005),
        ("new", None, 2500, 2500 / 6000, 0.005),
        ("expired", "idle-time", 2500, 2500 / 6000, 0.005),
    ]
    assert (total.prompt_tokens, total.calls, total.hit_rate) == (6000, 3, 1000 / 6000)
    assert (total.lost_tokens, total.lost_usd, total.unpriced_calls) == (2500, 0.00375, 0)
    assert [(one.session, one.calls, one.waterfall.prompt_tokens) for one in waterfalls.by_session()] == [
        ("a", (0, 2), 5000),
        ("b", (1,), 1000),
    ]


def test_causes_of_one_label_are_apart_and_the_largest_comes_first():
    waterfalls = Waterfalls()
    for cause, tokens in (("tool-order", 10), ("clock-in-prefix", 30), ("tool-order", 10)):
        waterfalls.add(0, usage(tokens), (Labelled("behind a break", cause, tokens),), price=None, session="")
    assert [(one.cause, one.tokens) for one in waterfalls.total().labels] == [
        ("clock-in-prefix", 30),
        ("tool-order", 20),
    ]


@pytest.mark.parametrize(
    ("label", "cause", "lost"),
    [
        ("served", None, 0),
        ("new", "compaction", 0),
        ("below granularity", None, 0),
        ("below granularity", "below-minimum", 100),
        ("behind a break", "clock-in-prefix", 100),
        ("not marked", "marker-missing", 100),
        ("key changed", "model-switch", 100),
        ("routed or evicted", "provider-missed", 100),
        ("routed or evicted", None, 0),
        ("key changed", None, 0),
        ("not reported", None, 0),
    ],
)
def test_what_counts_as_lost(label, cause, lost):
    waterfalls = Waterfalls()
    waterfalls.add(0, usage(100), (Labelled(label, cause, 100),), price=NO_PREMIUM, session="")
    total = waterfalls.total()
    assert (total.lost_tokens, total.lost_usd) == (lost, pytest.approx(lost * 1.5e-6))


def test_unknown_prices_are_counted_and_never_nothing():
    lost = (Labelled("expired", "idle-time", M),)
    waterfalls = Waterfalls()
    waterfalls.add(0, usage(M), lost, price=None, session="unpriced")
    waterfalls.add(1, usage(M), lost, price=NO_PREMIUM, session="priced")
    waterfalls.add(2, usage(M), lost, price=Price(input_usd_per_mtok=2.0), session="no cached price")
    waterfalls.add(3, usage(M, None), (Labelled("not reported", None, M),), price=NO_PREMIUM, session="silent")

    total = waterfalls.total()
    assert (total.labels[0].usd, total.labels[1].usd, total.lost_usd, total.unpriced_calls) == (4.0, None, 1.5, 3)
    assert total.hit_rate == 0.0
    assert [
        (one.waterfall.labels[0].usd, one.waterfall.lost_usd, one.waterfall.hit_rate) for one in waterfalls.by_session()
    ] == [(None, None, 0.0), (2.0, 1.5, 0.0), (2.0, None, 0.0), (None, 0.0, None)]


def test_nothing_added():
    total = Waterfalls().total()
    assert (total.prompt_tokens, total.calls, total.hit_rate, total.labels, total.lost_usd) == (0, 0, None, (), 0.0)
    assert Waterfalls().by_session() == ()


def test_a_long_session_lists_its_first_calls():
    waterfalls = Waterfalls()
    for index in range(MOST_CALLS_LISTED + 5):
        waterfalls.add(index, usage(1), (Labelled("new", None, 1),), price=None, session="long")
    (session,) = waterfalls.by_session()
    assert (len(session.calls), session.calls[-1]) == (MOST_CALLS_LISTED, MOST_CALLS_LISTED - 1)
    assert session.waterfall.calls == MOST_CALLS_LISTED + 5
