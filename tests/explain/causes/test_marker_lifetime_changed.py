import pytest
from beside_given import A_CHANGE, CLAUDE, call, evidence

from hitrate.core.prompt import Marker
from hitrate.explain.causes.marker_lifetime_changed import MarkerLifetimeChanged


def marked(was, now, cached=0, **more):
    return evidence(
        call(0, 9000, 0, 8990, marks=((9, 35960, was),)),
        call(1, 9100, cached, 9090 - (cached or 0), marks=((10, 36400, now),)),
        facts=CLAUDE,
        **more,
    )


@pytest.mark.parametrize(
    ("given", "was", "now"),
    [
        (marked("1h", None), "1h", "the default"),
        (marked(None, "1h"), "the default", "1h"),
        (marked("5m", "1h"), "5m", "1h"),
    ],
)
def test_another_lifetime_is_another_entry(given, was, now):
    found = MarkerLifetimeChanged().recognise(given)
    assert found is not None
    assert (found.confidence, found.was, found.now) == ("likely", was, now)


@pytest.mark.parametrize(
    ("before", "now", "pointer"),
    [
        (
            (Marker("/system/0/cache_control", 5, "5m"),),
            (Marker("/system/0/cache_control", 5, "1h"),),
            "/system/0/cache_control/ttl",
        ),
        (
            (Marker("/system/0/cache_control", 5, "1h"),),
            (Marker("/system/0/cache_control", 5, None),),
            "/system/0/cache_control",
        ),
        (
            (Marker("/messages/0/content/0/cache_control", 5, None),),
            (Marker("/messages/2/content/0/cache_control", 7, "1h"),),
            "/messages/2/content/0/cache_control",
        ),
        ((), (), None),
    ],
)
def test_the_place_is_the_marker_with_the_new_lifetime(before, now, pointer):
    found = MarkerLifetimeChanged().recognise(marked(None, "1h", markers_before=before, markers=now))
    assert found is not None
    assert found.pointer == pointer


NO_FINDING = {
    "the same lifetime": marked("1h", "1h"),
    "the default spelled out": marked(None, "5m"),
    "served": marked("1h", None, cached=8990),
    "nothing reported": marked("1h", None, cached=None),
    "the text was changed": marked("1h", None, relation="rewrite", divergence=A_CHANGE),
    "another conversation": marked("1h", None, relation="opening", alone=True),
    "no markers before": evidence(
        call(0, 9000, 0, 0), call(1, 9100, 0, 9090, marks=((10, 36400, "1h"),)), facts=CLAUDE
    ),
    "a first call": evidence(call(0, 9000, 0, 8990, marks=((9, 35960, "1h"),)), facts=CLAUDE),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert MarkerLifetimeChanged().recognise(given) is None
