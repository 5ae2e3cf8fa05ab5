import pytest
from beside_given import A_CHANGE, CLAUDE, GPT_5_6, OPENAI, call, evidence

from hitrate.explain.causes.markers_dropped import MarkersDropped

MARKED = {"marks": ((2, 8000),)}

DROPPED = evidence(call(0, 9000, 0, 8990, **MARKED), call(1, 9100, 0, 0), facts=CLAUDE)

NO_FINDING = {
    "marked both times": evidence(call(0, 9000, 0, 8990, **MARKED), call(1, 9100, 0, 9090, **MARKED), facts=CLAUDE),
    "never marked": evidence(call(0, 9000, 0, 0), call(1, 9100, 0, 0), facts=CLAUDE),
    "served without": evidence(call(0, 9000, 0, 8990, **MARKED), call(1, 9100, 8990, 0), facts=CLAUDE),
    "a cache that needs no markers": evidence(call(0, 9000, 0, **MARKED), call(1, 9100, 0), facts=OPENAI),
    "implicit breakpoints": evidence(call(0, 9000, 0, 8990, **MARKED), call(1, 9100, 0, 9000), facts=GPT_5_6),
    "another conversation": evidence(
        call(0, 9000, 0, 8990, **MARKED), call(1, 9100, 0, 0), relation="opening", alone=True, facts=CLAUDE
    ),
    "the text was changed": evidence(
        call(0, 9000, 0, 8990, **MARKED), call(1, 9100, 0, 0), relation="rewrite", divergence=A_CHANGE, facts=CLAUDE
    ),
    "nothing reported": evidence(call(0, 9000, None, **MARKED), call(1, 9100, None), facts=CLAUDE),
}


def test_the_markers_are_gone():
    found = MarkersDropped().recognise(DROPPED)
    assert found is not None
    assert found.confidence == "certain"
    assert "Request 0 carries 1" in found.summary


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert MarkersDropped().recognise(given) is None
