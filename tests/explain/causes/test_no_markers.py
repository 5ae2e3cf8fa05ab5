import pytest
from beside_given import CLAUDE, GPT_5_6, HAIKU, OPENAI, UNKNOWN, call, evidence

from hitrate.explain.causes.no_markers import NoMarkers

EXPLICIT = {"/model": '"gpt-5.6"', "/prompt_cache_options/mode": '"explicit"'}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (evidence(call(0, 9000, 0, 0), call(1, 9100, 0, 0), facts=CLAUDE), "9,000 tokens that request 0 had sent"),
        (evidence(call(0, 9000, 0, None), call(1, 9100, 0, None), facts=CLAUDE), "caches nothing without markers"),
        (
            evidence(
                call(0, 9000, 0, 0), call(1, 8990, 0, 0), relation="opening", alone=True, reusable=8500, facts=CLAUDE
            ),
            "8,500 tokens",
        ),
        (
            evidence(call(0, 9000, 0, 0, key=EXPLICIT), call(1, 9100, 0, 0, key=EXPLICIT), facts=GPT_5_6),
            "its cache mode is explicit",
        ),
    ],
)
def test_nothing_is_marked_where_nothing_is_cached_without(given, words):
    found = NoMarkers().recognise(given)
    assert found is not None
    assert found.confidence == "certain"
    assert words in found.summary


NO_FINDING = {
    "an automatic cache": evidence(call(0, 9000, 0), call(1, 9100, 0), facts=OPENAI),
    "an unknown provider": evidence(call(0, 9000, 0), call(1, 9100, 0), facts=UNKNOWN),
    "implicit breakpoints": evidence(call(0, 9000, 0, 8990), call(1, 9100, 0, 9090), facts=GPT_5_6),
    "written by an automatic marker": evidence(call(0, 9000, 0, 8990), call(1, 9100, 0, 9090), facts=CLAUDE),
    "served": evidence(call(0, 9000, 0, 0), call(1, 9100, 8990, 0), facts=CLAUDE),
    "below the minimum": evidence(call(0, 2000, 0, 0), call(1, 2100, 0, 0), facts=HAIKU),
    "marked": evidence(call(0, 9000, 0, 0), call(1, 9100, 0, 0, marks=((1, 10),)), facts=CLAUDE),
    "a first call": evidence(call(0, 9000, 0, 0), facts=CLAUDE),
    "nothing reported": evidence(call(0, 9000, None), call(1, 9100, None), facts=CLAUDE),
    "the earlier call was refused": evidence(call(0, 9000, 0, 0, answered=False), call(1, 9100, 0, 0), facts=CLAUDE),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert NoMarkers().recognise(given) is None
