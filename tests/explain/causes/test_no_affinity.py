import pytest
from beside_given import A_CHANGE, CLAUDE, LLAMACPP, OPENAI, UNKNOWN, call, evidence
from msgspec.structs import replace

from hitrate.explain.causes.no_affinity import NoAffinity

COUNTS = ((1428, 0, 0.690), (1483, 0, 0.697), (1520, 1472, 0.097), (1567, 0, 0.711), (1585, 1536, 0.099))


def turns(counts=COUNTS, *, at=1, facts=UNKNOWN, affinity=None, timed=True, relation="append", **more):
    calls = [
        call(index, prompt, cached, at=8.0 * index, ttft_s=ttft if timed else None, affinity=affinity)
        for index, (prompt, cached, ttft) in enumerate(counts)
    ]
    return evidence(*calls, at=at, facts=facts, relation=relation, **more)


@pytest.mark.parametrize(
    ("given", "confidence", "words"),
    [
        (
            turns(at=1),
            "likely",
            "Of 4 requests that could have read the conversation's history 2 found it and 2 did not",
        ),
        (turns(at=3), "likely", "the time to the first token follows the counts"),
        (turns(at=1, timed=False), "likely", "no session key was sent"),
        (turns(COUNTS[:3], at=1), "likely", "1 found it and 1 did not"),
        (turns(COUNTS[:3], at=1, timed=False), "possible", "1 found it and 1 did not"),
        (turns(at=3, facts=OPENAI, timed=False), "likely", "several machines"),
    ],
)
def test_hits_come_and_go(given, confidence, words):
    found = NoAffinity().recognise(given)
    assert found is not None
    assert found.confidence == confidence
    assert words in found.summary
    assert found.advice.startswith("Send ")
    assert "the lifetime: only 8 s passed" in found.ruled_out


NO_FINDING = {
    "a hit": turns(at=2),
    "no hit at all": turns(COUNTS[:2], at=1),
    "a session key was sent": turns(affinity="talk-1"),
    "no session key is known there": turns(facts=CLAUDE),
    "slots": turns(facts=replace(LLAMACPP, affinity_knob="id_slot")),
    "another conversation": turns(relation="opening", alone=True),
    "nothing reported": turns([(prompt, None, ttft) for prompt, _, ttft in COUNTS]),
    "the text was changed": turns(relation="rewrite", divergence=A_CHANGE),
    "warm by the time of its first token": turns([(1428, 0, 0.7), (1483, 0, 0.1), (1520, 1472, 0.1)], at=1),
    "steps of an unknown size": turns([(1428, 0, 0.7), (1483, 1280, 0.1), (1520, 1280, 0.1)], at=2),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert NoAffinity().recognise(given) is None
