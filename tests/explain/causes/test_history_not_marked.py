import pytest
from beside_given import A_CHANGE, CLAUDE, GPT_5_6, call, evidence

from hitrate.core.prompt import Marker
from hitrate.explain.causes.history_not_marked import HistoryNotMarked

FRONT = {"marks": ((6, 5700),)}
CALLS = (
    call(0, 1444, 0, 1425, characters=5776, **FRONT),
    call(1, 1903, 1425, 0, characters=7612, **FRONT),
    call(2, 2334, 1425, 0, characters=9336, **FRONT),
)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (evidence(*CALLS, at=1, facts=CLAUDE), "The only marker stands in front of the history: 1,425 tokens"),
        (evidence(*CALLS, at=2, facts=CLAUDE), "909 behind it"),
        (
            evidence(*CALLS, at=1, facts=CLAUDE, markers=(Marker("/system/0/cache_control", 5),)),
            "The only marker (/system/0/cache_control)",
        ),
        (
            evidence(
                call(0, 9000, 0, 8990, marks=((3, 20000), (9, 35960))),
                call(1, 10000, 8990, 0, marks=((3, 20000), (9, 35960))),
                call(2, 11000, 8990, 0, marks=((3, 20000), (9, 35960))),
                facts=CLAUDE,
            ),
            "The last of 2 markers",
        ),
    ],
    ids=["call 1", "call 2", "with its place", "stays on the user message"],
)
def test_the_marker_stays_while_the_history_grows(given, words):
    found = HistoryNotMarked().recognise(given)
    assert found is not None
    assert found.confidence == "certain"
    assert words in found.summary
    assert found.pointer is None


NO_FINDING = {
    "the marker moves": evidence(
        call(0, 1444, 0, 1443, marks=((6, 5700), (7, 5776))),
        call(1, 1903, 1443, 459, marks=((6, 5700), (9, 7612))),
        facts=CLAUDE,
    ),
    "little stands behind it": evidence(
        call(0, 1444, 0, 1425, characters=5776, **FRONT), call(1, 1500, 1425, 0, characters=6000, **FRONT), facts=CLAUDE
    ),
    "one question each": evidence(*CALLS[:2], relation="opening", alone=True, facts=CLAUDE),
    "the front was not served either": evidence(
        CALLS[0], call(1, 1903, 0, 1425, characters=7612, **FRONT), facts=CLAUDE
    ),
    "nothing was written: the front is too short": evidence(
        call(0, 1444, 0, 0, characters=5776, **FRONT), call(1, 1903, 0, 0, characters=7612, **FRONT), facts=CLAUDE
    ),
    "an automatic cache": evidence(*CALLS, at=1, facts=GPT_5_6),
    "the text was changed": evidence(*CALLS, at=1, relation="rewrite", divergence=A_CHANGE, facts=CLAUDE),
    "no marker": evidence(call(0, 1444, 0, 0), call(1, 1903, 0, 0), facts=CLAUDE),
    "nothing reported": evidence(call(0, 1444, None, **FRONT), call(1, 1903, None, **FRONT), facts=CLAUDE),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert HistoryNotMarked().recognise(given) is None
