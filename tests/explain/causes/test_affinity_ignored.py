import pytest
from beside_given import A_CHANGE, ONE_SLOT, OPENAI, call, evidence

from hitrate.explain.causes.affinity_ignored import AffinityIgnored


def turns(*cached, at=-1, affinities=None, facts=OPENAI, **more):
    affinities = affinities or ["talk"] * len(cached)
    calls = [
        call(index, 2000 + 50 * index, one, affinity=affinity)
        for index, (one, affinity) in enumerate(zip(cached, affinities, strict=True))
    ]
    return evidence(*calls, at=at, facts=facts, **more)


@pytest.mark.parametrize(
    ("given", "confidence", "words"),
    [
        (
            turns(0, 1920, 0, 1920, 0),
            "likely",
            "Of 4 requests that could have read the conversation's history 2 did not",
        ),
        (turns(0, 0, 1920, at=1), "possible", "1 did not find it"),
        (turns(0, 1920, 1920, 0), "possible", "all carry the same session key"),
    ],
)
def test_hits_come_and_go_in_spite_of_the_key(given, confidence, words):
    found = AffinityIgnored().recognise(given)
    assert found is not None
    assert found.confidence == confidence
    assert words in found.summary
    assert "the session key: one value in all requests" in found.ruled_out


NO_FINDING = {
    "always served": turns(0, 1920, 1920, 2048),
    "never served": turns(0, 0, 0),
    "no key": turns(0, 1920, 0, affinities=[None, None, None]),
    "several keys": turns(0, 1920, 0, affinities=["a", "a", "b"]),
    "slots": turns(0, 1920, 0, facts=ONE_SLOT),
    "a hit": turns(0, 0, 1920),
    "another conversation": turns(0, 1920, 0, relation="opening", alone=True),
    "the text was changed": turns(0, 1920, 0, relation="rewrite", divergence=A_CHANGE),
    "nothing reported": turns(None, None, None),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert AffinityIgnored().recognise(given) is None
