import pytest
from beside_given import A_CHANGE, OPENAI, call, evidence

from hitrate.explain.causes.affinity_changes import AffinityChanges


def turns(*affinities, cached=(0, 0, 0), others=None, **more):
    calls = [
        call(index, 2000 + 50 * index, cached[index], affinity=affinity, others=others)
        for index, affinity in enumerate(affinities)
    ]
    return evidence(*calls, facts=OPENAI, **more)


@pytest.mark.parametrize(
    ("given", "was", "now", "pointer"),
    [
        (turns("req-1", "req-2"), "req-1", "req-2", None),
        (turns("req-1", "req-2", "req-3"), "req-2", "req-3", None),
        (turns("req-1", "req-2", others={"/routing/session": '"req-2"'}), "req-1", "req-2", "/routing/session"),
        (turns("a", "a", "b", cached=(0, 1920, 0)), "a", "b", None),
    ],
)
def test_the_session_key_is_another_one(given, was, now, pointer):
    found = AffinityChanges().recognise(given)
    assert found is not None
    assert (found.confidence, found.was, found.now, found.pointer) == ("likely", was, now, pointer)


NO_FINDING = {
    "one value": turns("a", "a", "a"),
    "no value": turns(None, None),
    "none before": turns(None, "a"),
    "served": turns("req-1", "req-2", cached=(0, 1920)),
    "served at another change": turns("a", "b", "c", cached=(0, 1920, 0)),
    "another conversation": turns("a", "b", relation="opening", alone=True),
    "nothing reported": turns("a", "b", cached=(None, None)),
    "the text was changed": turns("a", "b", relation="rewrite", divergence=A_CHANGE),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert AffinityChanges().recognise(given) is None
