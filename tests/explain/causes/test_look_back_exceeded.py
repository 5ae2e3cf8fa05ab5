import pytest
from beside_given import A_CHANGE, CLAUDE, OPENAI, call, evidence

from hitrate.explain.causes.look_back_exceeded import LookBackExceeded


def far(blocks, cached=1425, *, front=True, facts=CLAUDE, **more):
    """The last entry ends with block 9; the next marker stands `blocks` further back."""
    system = ((6, 5700),) if front else ()
    return evidence(
        call(0, 1445, 0, 1444, marks=(*system, (7, 5780)), characters=5780),
        call(1, 1497, 1444, 52, marks=(*system, (9, 5988)), characters=5988),
        call(2, 2118, cached, 2117 - cached, marks=(*system, (9 + blocks, 8472)), characters=8472),
        facts=facts,
        **more,
    )


@pytest.mark.parametrize(
    ("given", "confidence", "words"),
    [
        (far(28), "certain", "28 blocks were added between the last entry (block 9)"),
        (far(28), "certain", "the entry at block 6 was found instead"),
        (far(28, cached=0, front=False), "certain", "nothing was found instead"),
        (far(22), "certain", "22 blocks"),
        (far(20), "likely", "20 blocks"),
    ],
)
def test_the_entry_lies_too_far_back(given, confidence, words):
    found = LookBackExceeded().recognise(given)
    assert found is not None
    assert found.confidence == confidence
    assert words in found.summary


NO_FINDING = {
    "within reach": far(19),
    "one block": far(1),
    "found all the same": far(28, cached=1496),
    "no limit": far(28, facts=OPENAI),
    "the text was changed": far(28, relation="rewrite", divergence=A_CHANGE),
    "no marker behind the entry": evidence(
        call(0, 1497, 0, 1496, marks=((9, 5988),), characters=5988),
        call(1, 2118, 0, 1400, marks=((6, 5600),), characters=8472),
        facts=CLAUDE,
    ),
    "nothing reported": evidence(
        call(0, 1497, None, marks=((9, 5988),)), call(1, 2118, None, marks=((40, 8472),)), facts=CLAUDE
    ),
    "a first call": evidence(call(0, 1497, 0, 1496, marks=((30, 5988),)), facts=CLAUDE),
    "the entry's call was refused": evidence(
        call(0, 1497, 0, 0, marks=((9, 5988),), answered=False),
        call(1, 2118, 0, 2100, marks=((40, 8472),)),
        facts=CLAUDE,
    ),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert LookBackExceeded().recognise(given) is None
