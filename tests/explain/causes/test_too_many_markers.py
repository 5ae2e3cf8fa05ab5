import pytest
from beside_given import CLAUDE, GPT_5_6, OPENAI, call, evidence

from hitrate.explain.causes.too_many_markers import TooManyMarkers

FOUR = ((1, 400), (2, 800), (3, 1200), (4, 1600))
SIX = (*FOUR, (5, 2000), (6, 2400))


@pytest.mark.parametrize(
    ("given", "confidence", "words"),
    [
        (
            evidence(call(0, None, None, marks=SIX, status=400, answered=False), facts=CLAUDE),
            "certain",
            "6 markers where 4",
        ),
        (evidence(call(0, None, None, marks=SIX, status=422, answered=False), facts=CLAUDE), "certain", "status 422"),
        (evidence(call(0, None, None, marks=SIX), facts=CLAUDE), "likely", "6 markers where 4"),
        (evidence(call(0, 2000, 0, 1900), call(1, 2000, 0, 0, marks=SIX), facts=CLAUDE), "likely", "6 markers"),
    ],
)
def test_more_markers_than_the_api_takes(given, confidence, words):
    found = TooManyMarkers().recognise(given)
    assert found is not None
    assert found.confidence == confidence
    assert words in found.summary
    assert found.pointer is None


NO_FINDING = {
    "as many as are allowed": evidence(call(0, 2000, 0, 1900, marks=FOUR), facts=CLAUDE),
    "as many, and refused for something else": evidence(
        call(0, None, None, marks=FOUR, status=400, answered=False), facts=CLAUDE
    ),
    "more, and served": evidence(call(0, 2000, 1900, 0, marks=SIX), facts=CLAUDE),
    "a wire without a limit": evidence(call(0, 2000, 0, marks=SIX), facts=OPENAI),
    "a family that takes the latest four": evidence(call(0, 2000, 0, marks=SIX), facts=GPT_5_6),
    "no markers": evidence(call(0, None, None, status=400, answered=False), facts=CLAUDE),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert TooManyMarkers().recognise(given) is None
