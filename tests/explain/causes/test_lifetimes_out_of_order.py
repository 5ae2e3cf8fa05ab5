import pytest
from beside_given import CLAUDE, OPENAI, call, evidence

from hitrate.explain.causes.lifetimes_out_of_order import LifetimesOutOfOrder


def refused(*lifetimes, status=400, facts=CLAUDE):
    marks = [(block, 400 * block, lifetime) for block, lifetime in enumerate(lifetimes, 1)]
    return evidence(call(0, None, None, marks=marks, status=status, answered=status < 400), facts=facts)


@pytest.mark.parametrize(
    ("given", "place"),
    [
        (refused("5m", "1h"), "Marker 2 of 2"),
        (refused(None, "1h"), "Marker 2 of 2"),
        (refused("1h", "5m", "1h"), "Marker 3 of 3"),
    ],
)
def test_a_longer_lifetime_behind_a_shorter_one(given, place):
    found = LifetimesOutOfOrder().recognise(given)
    assert found is not None
    assert found.summary.startswith(place)
    assert found.now == "1h"


@pytest.mark.parametrize(
    "given",
    [
        refused("1h", "5m"),
        refused("1h", None),
        refused("5m", None),
        refused("1h", "1h"),
        refused(),
        refused("5m", "1h", status=200),
        refused("5m", "1h", status=529),
        refused("5m", "1h", facts=OPENAI),
    ],
)
def test_nothing_is_said_of_another_order(given):
    assert LifetimesOutOfOrder().recognise(given) is None
