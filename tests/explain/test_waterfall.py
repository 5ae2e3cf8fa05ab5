import pytest

from hitrate.core.model import Usage
from hitrate.core.money import Price
from hitrate.explain.labels import Labelled
from hitrate.explain.waterfall import MOST_CALLS_LISTED, Waterfalls

NO_PREMIUM = Price(input_usd_per_mtok=2.0, cached_usd_per_mtok=0.5)
M = 1_000_000


def usage(prompt, cached=0):
    return Usage(prompt_tokens=prompt, cached_tokens=cached)


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
