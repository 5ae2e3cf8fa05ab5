import pytest
from beside_given import A_CHANGE, CLAUDE, GPT_5_6, OPENAI, UNKNOWN, call, evidence

from hitrate.explain.causes.beside_the_text import OTHER_CAUSES
from hitrate.explain.causes.provider_missed import ProviderMissed


def moving(index, prompt, cached, written, at, **more):
    return call(
        index, prompt, cached, written, at=at, marks=((index + 6, 4 * prompt - 4),), key={"/model": '"m"'}, **more
    )


HIT = (moving(0, 9000, 0, 8999, 0.0), moving(1, 9100, 8999, 100, 30.0, ttft_s=0.4))
MISS = evidence(*HIT, moving(2, 9200, 0, 9199, 50.0, done=60.0), moving(3, 9300, 9199, 100, 70.0), at=2, facts=CLAUDE)


def test_all_that_was_ruled_out_is_listed():
    found = ProviderMissed().recognise(MISS)
    assert found is not None
    assert found.confidence == "likely"
    assert "Nothing of 9,100 tokens" in found.summary
    assert found.ruled_out == (
        "the text: the earlier prompt stands unchanged in front",
        "the key: same model and settings (/model)",
        "the lifetime: 20 s passed of 5 min",
        "the length: 9,200 tokens, the minimum is 1,024",
        "a race: the earlier answer had begun",
    )


def test_no_other_cause_speaks_before_it():
    assert next(one for one in OTHER_CAUSES if one.recognise(MISS)).name == "provider-missed"


def test_a_part_that_was_served_is_said():
    given = evidence(*HIT, moving(2, 9200, 3000, 6199, 50.0), facts=CLAUDE)
    found = ProviderMissed().recognise(given)
    assert found is not None
    assert "Only 3,000 tokens of 9,100" in found.summary


NO_FINDING = {
    "served": evidence(*HIT, moving(2, 9200, 9099, 100, 50.0), facts=CLAUDE),
    "a few tokens short": evidence(*HIT, moving(2, 9200, 9090, 110, 50.0), facts=CLAUDE),
    "rounded to the step": evidence(call(0, 9000, 0), call(1, 9100, 8832), facts=OPENAI),
    "rounded to a step that is not known": evidence(call(0, 1816, 0), call(1, 1886, 1792), facts=UNKNOWN),
    "nothing reported": evidence(call(0, 9000, None), call(1, 9100, None), facts=OPENAI),
    "other conversations": evidence(call(0, 9000, 0), call(1, 9100, 0), relation="opening", alone=True),
    "the text was changed": evidence(call(0, 9000, 0), call(1, 9100, 0), relation="rewrite", divergence=A_CHANGE),
    "nothing was checked but the text": evidence(
        call(0, 9000, 0, key={"/a": "1"}), call(1, 9100, 0, key={"/a": "2"}), facts=UNKNOWN
    ),
    "a first call": evidence(call(0, 9000, 0)),
    "a refused call": evidence(call(0, 9000, 0), call(1, 9000, None, answered=False, status=429)),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert ProviderMissed().recognise(given) is None


HEALTHY = {
    "steps of 128": evidence(
        call(0, 1426, 0),
        call(1, 1481, 1408),
        call(2, 1518, 1408),
        call(3, 1565, 1408),
        call(4, 1583, 1536),
        facts=OPENAI,
    ),
    "a first call": evidence(call(0, 1426, 0)),
    "another question": evidence(call(0, 1936, 0), call(1, 1941, 1792), relation="branch", reusable=1886),
    "a retry": evidence(call(0, 1886, None, answered=False, status=429), call(1, 1886, 1792), relation="repeat"),
    "a retry of a cold call that had failed": evidence(
        call(0, 1886, None, answered=False, status=500), call(1, 1886, 0), relation="repeat"
    ),
    "a side call": evidence(call(0, 1886, 0), call(1, 40, 0), relation="side", alone=True, reusable=0),
    "markers that move": evidence(*HIT, moving(2, 9200, 9099, 100, 50.0), facts=CLAUDE),
    "a marked opening, read": evidence(
        moving(0, 1829, 0, 1819, 0.0), moving(1, 1829, 1819, 0, 20.0), relation="opening", alone=True, facts=CLAUDE
    ),
    "another question, whose reply before no marker covered": evidence(
        moving(0, 2000, 0, 1999, 0.0),
        moving(1, 3000, 1999, 1000, 20.0),
        moving(2, 2950, 1999, 950, 40.0),
        relation="branch",
        shared=10400,
        reusable=2600,
        facts=CLAUDE,
    ),
    "the same with breakpoints at the newest message": evidence(
        call(0, 2000, 0, 1999, at=0.0),
        call(1, 3000, 1999, 1000, at=20.0),
        call(2, 2950, 1999, 950, at=40.0),
        relation="branch",
        shared=10400,
        reusable=2600,
        facts=GPT_5_6,
    ),
    "some tokens behind the last marker": evidence(
        call(0, 1444, 0, 1300, at=0.0, marks=((6, 5200),)),
        call(1, 1500, 1300, 0, at=9.0, marks=((6, 5200),)),
        call(2, 1540, 1300, 0, at=18.0, marks=((6, 5200),)),
        facts=CLAUDE,
    ),
    "the same, with another beta": evidence(
        call(0, 1444, 0, 1300, at=0.0, marks=((6, 5200),), key={"anthropic-beta:": '"a"'}),
        call(1, 1500, 1300, 0, at=9.0, marks=((6, 5200),), key={"anthropic-beta:": '"b"'}),
        facts=CLAUDE,
    ),
    "a short talk": evidence(call(0, 120, 0), call(1, 150, 0), call(2, 190, 0), facts=OPENAI),
    "a cold conversation with a known opening": evidence(
        call(0, 1829, 0, at=0.0), call(1, 1829, 0, at=90000.0), relation="opening", alone=True, facts=OPENAI
    ),
    "without usage": evidence(call(0, None, None), call(1, None, None)),
    "counts that contradict each other": evidence(call(0, 1886, 0), call(1, 40, 1886)),
}


@pytest.mark.parametrize("given", HEALTHY.values(), ids=HEALTHY.keys())
def test_no_cause_at_all_speaks_of_healthy_calls(given):
    assert [one.name for one in OTHER_CAUSES if one.recognise(given)] == []


def test_names_are_given_once():
    names = [one.name for one in OTHER_CAUSES]
    assert len(names) == len(set(names))
    assert all(name == name.lower() and " " not in name for name in names)
