import pytest
from beside_given import A_CHANGE, CLAUDE, GPT_5_6, OPENAI, call, evidence

from hitrate.explain.causes.exact_breakpoint import ExactBreakpoint


def single(*, cached=0, written=1806, marks=(), facts=GPT_5_6, relation="opening", reusable=1790, **more):
    calls = (
        call(0, 1809, 0, written, marks=marks, characters=7383),
        call(1, 1808, cached, written, marks=marks, characters=7380),
    )
    return evidence(*calls, relation=relation, alone=True, shared=7347, reusable=reusable, facts=facts, **more)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (single(), "7,347 characters"),
        (single(), "1,806 tokens were written that are never read"),
        (single(written=None), "no fall-back to a shorter prefix."),
        (single(marks=((3, 7360),)), "no entry ends there"),
        (single(relation="branch"), "no entry ends there"),
    ],
)
def test_no_entry_ends_where_the_requests_part(given, words):
    found = ExactBreakpoint().recognise(given)
    assert found is not None
    assert found.confidence == "likely"
    assert words in found.summary
    assert found.where_they_part


NO_FINDING = {
    "an entry ends there": single(marks=((2, 7347),)),
    "served": single(cached=1790),
    "served what ended at an earlier question": single(relation="branch", cached=1000),
    "steps instead of breakpoints": single(facts=OPENAI),
    "markers with a look-back": single(facts=CLAUDE),
    "the conversation goes on": single(relation="append"),
    "below the minimum": single(reusable=900),
    "little is shared": single(reusable=10),
    "the text was changed": single(relation="rewrite", divergence=A_CHANGE),
    "nothing reported": single(cached=None),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert ExactBreakpoint().recognise(given) is None
