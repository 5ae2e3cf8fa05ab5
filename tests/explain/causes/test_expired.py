import pytest
from beside_given import A_CHANGE, CLAUDE, GPT_5_6, LLAMACPP, OPENAI, UNKNOWN, call, evidence
from msgspec.structs import replace

from hitrate.explain.causes.expired import Expired


def marked(index, at, prompt, cached, written, ttl=None, **more):
    return call(index, prompt, cached, written, at=at, marks=((index + 6, 4 * prompt - 4, ttl),), **more)


def idle(gap, *, cached=0, ttl=None, usage=None, **more):
    return evidence(
        marked(0, 0.0, 1351, 0, 1350, ttl, usage=usage),
        marked(1, 70.0, 1405, 1350, 54, ttl, usage=usage),
        marked(2, 70.0 + gap, 1443, cached, 1442 - (cached or 0), ttl),
        facts=CLAUDE,
        **more,
    )


@pytest.mark.parametrize(
    ("given", "confidence", "words", "advice"),
    [
        (idle(675), "certain", "675 s (11 min) passed since request 1", "pays from call 3"),
        (idle(675), "certain", "its entry lives 5 min", "1.15x more than a read"),
        (idle(301), "certain", "301 s (5 min) passed", '"ttl": "1h"'),
        (idle(4000, ttl="1h"), "certain", "its entry lives 60 min", "keep-alive"),
        (idle(9000), "certain", "2.5 h passed", "No lifetime covers this pause"),
        (idle(675, cached=1200), "certain", "A shorter prefix of 1,200 tokens was still there", "1h"),
        (
            idle(675, ttl="1h", usage={"written_5m_tokens": 54, "written_1h_tokens": 0}),
            "certain",
            "One hour was asked for, but the write was billed as five minutes",
            "1h",
        ),
        (
            evidence(call(0, 5000, 0, 4990, at=0.0), call(1, 5100, 0, 5090, at=2000.0), facts=GPT_5_6),
            "likely",
            "its entry lives 30 min",
            "keep-alive",
        ),
        (
            evidence(call(0, 5000, 0, at=0.0), call(1, 5100, 0, at=7200.0), facts=OPENAI),
            "likely",
            "the lifetime is not published",
            "prompt_cache_retention",
        ),
        (
            evidence(call(0, 5000, 0, at=0.0), call(1, 5100, 0, at=900.0), facts=UNKNOWN),
            "possible",
            "15 min",
            "retention",
        ),
        (
            evidence(call(0, 5000, 0, at=0.0), call(1, 5100, 0, at=400.0), facts=replace(LLAMACPP, ttl_s=300.0)),
            "likely",
            "its entry lives 5 min",
            "Send the next request sooner",
        ),
    ],
)
def test_the_entry_is_older_than_it_lives(given, confidence, words, advice):
    found = Expired().recognise(given)
    assert found is not None
    assert found.confidence == confidence
    assert words in found.summary
    assert advice in found.advice
    assert not any(line.startswith("the lifetime") for line in found.ruled_out)


def test_calls_on_a_schedule_slower_than_the_lifetime_are_said_to_be_so():
    calls = [marked(index, 600.0 * index, 9000 + index, 0, 8999 + index) for index in range(4)]
    found = Expired().recognise(evidence(*calls, at=1, facts=CLAUDE))
    assert found is not None
    assert "The requests come every 10 min" in found.summary


def test_a_read_of_the_prefix_renews_it():
    calls = (marked(0, 0.0, 1351, 0, 1350), marked(1, 200.0, 1405, 1350, 54), marked(2, 400.0, 1443, 0, 1442))
    assert Expired().recognise(evidence(*calls, facts=CLAUDE)) is None
    pinged = (calls[0], call(1, 1351, 1350, 0, at=290.0, marks=((6, 5400),)), marked(2, 580.0, 1443, 0, 1442))
    assert Expired().recognise(evidence(*pinged, facts=CLAUDE)) is None


NO_FINDING = {
    "in time": idle(299),
    "in time for an hour": idle(675, ttl="1h"),
    "served": idle(675, cached=1404),
    "nothing reported": idle(675, cached=None),
    "the text was changed": idle(675, relation="rewrite", divergence=A_CHANGE),
    "another conversation": idle(675, relation="opening", alone=True),
    "the times are not known": evidence(marked(0, None, 1351, 0, 1350), marked(1, None, 1405, 0, 1404), facts=CLAUDE),
    "a short pause at an unknown lifetime": evidence(
        call(0, 5000, 0, at=0.0), call(1, 5100, 0, at=299.0), facts=OPENAI
    ),
    "a longer pause did no harm": evidence(
        call(0, 5000, 0, at=0.0), call(1, 5100, 4992, at=1800.0), call(2, 5200, 0, at=2400.0), facts=OPENAI
    ),
    "short pauses miss as well": evidence(
        call(0, 5000, 0, at=0.0), call(1, 5100, 0, at=5.0), call(2, 5200, 0, at=605.0), facts=OPENAI
    ),
    "24 hours were asked for": evidence(
        call(0, 5000, 0, at=0.0, key={"/prompt_cache_retention": '"24h"'}),
        call(1, 5100, 0, at=7200.0, key={"/prompt_cache_retention": '"24h"'}),
        facts=OPENAI,
    ),
    "an engine without lifetimes": evidence(call(0, 5000, 0, at=0.0), call(1, 5100, 0, at=7200.0), facts=LLAMACPP),
    "only the marked front was due, and it was read": evidence(
        call(0, 1444, 0, 1425, at=0.0, marks=((6, 5700),)),
        call(1, 1903, 1425, 0, at=900.0, marks=((6, 5700),)),
        facts=CLAUDE,
    ),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert Expired().recognise(given) is None
