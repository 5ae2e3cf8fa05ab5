import pytest
from beside_given import CLAUDE, GPT_5_6, HAIKU, call, evidence

from hitrate.explain.causes.opening_not_marked import OpeningNotMarked


def single(marks, *, cached=0, written=1800, facts=CLAUDE, relation="opening", reusable=1700):
    """Two requests that share 6,800 characters, each with its markers at these characters."""
    first, second = (
        call(
            number,
            1810,
            0 if number == 0 else cached,
            written,
            marks=tuple((index, end) for index, end in enumerate(marks)),
        )
        for number in range(2)
    )
    return evidence(first, second, relation=relation, alone=True, shared=6800, reusable=reusable, facts=facts)


@pytest.mark.parametrize("marks", [(7200,), (7100, 7200), (6801,)])
def test_the_first_marker_stands_behind_what_differs(marks):
    found = OpeningNotMarked().recognise(single(marks))
    assert found is not None
    assert found.confidence == "likely"
    assert "6,800 characters" in found.summary
    assert "1,800 tokens were written" in found.summary
    assert found.where_they_part


NO_FINDING = {
    "marked at its end": single((6800, 7200)),
    "marked inside": single((3000,)),
    "served": single((7200,), cached=1700),
    "not marked at all": single(()),
    "below the minimum": single((7200,), facts=HAIKU),
    "little is shared": single((7200,), reusable=12),
    "a conversation that goes on": single((7200,), relation="append"),
    "breakpoints of the other kind": single((7200,), facts=GPT_5_6),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert OpeningNotMarked().recognise(given) is None
