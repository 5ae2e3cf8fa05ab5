import pytest
from beside_given import A_CHANGE, CLAUDE, HAIKU, OPENAI, UNKNOWN, VLLM, call, evidence
from msgspec.structs import replace

from hitrate.explain.causes.too_short import TooShort

MARKED = {"marks": ((6, 5200), (7, 5400)), "model": "claude-haiku-4-5"}
STATED = replace(OPENAI, rules={"minimum_tokens": 1024})
COARSE = replace(VLLM, granularity=1600)


def short(*prompts, facts=HAIKU, cached=0, written=0, **more):
    calls = [call(index, prompt, cached, written, **more) for index, prompt in enumerate(prompts)]
    return evidence(*calls, at=1, facts=facts)


@pytest.mark.parametrize(
    ("given", "words", "voice"),
    [
        (short(1350, 1404, 1442, **MARKED), "1,404 tokens and the minimum of claude-haiku-4-5 is 4,096", None),
        (short(1350, 1404, **MARKED), "so its markers are ignored", None),
        (short(5000, 5100, facts=CLAUDE, marks=((2, 1500),)), "What is marked of the prompt has 375 tokens", None),
        (short(900, 950, facts=STATED), "950 tokens and the minimum of this model is 1,024", "observation"),
        (short(700, 750, 800, facts=OPENAI), "750 tokens", "observation"),
        (short(900, 1300, 1500, facts=COARSE), "one block of this engine is 1,600", None),
    ],
)
def test_nothing_so_short_is_kept(given, words, voice):
    found = TooShort().recognise(given)
    assert found is not None
    assert words in found.summary
    assert found.voice == voice


def test_single_calls_with_a_marked_opening_that_is_too_short():
    calls = [call(index, 5000, 0, 0, marks=((2, 1500),), conversation=index) for index in range(2)]
    found = TooShort().recognise(
        evidence(*calls, relation="opening", alone=True, shared=1500, reusable=375, facts=CLAUDE)
    )
    assert found is not None
    assert "375 tokens" in found.summary


NO_FINDING = {
    "long enough": short(5000, 5100, marks=((7, 20000),)),
    "grew out of it": evidence(call(0, 900, 0), call(1, 1000, 0), call(2, 1200, 1024), at=1, facts=OPENAI),
    "written all the same": short(1350, 1404, written=1300, **MARKED),
    "nothing reported": short(1350, 1404, cached=None, **MARKED),
    "a short talk at an automatic cache": short(120, 160, 200, facts=OPENAI),
    "two calls at an automatic cache": short(700, 750, facts=OPENAI),
    "no minimum is known": short(700, 750, 800, facts=UNKNOWN),
    "single calls at an automatic cache": evidence(
        call(0, 700, 0), call(1, 700, 0), relation="opening", alone=True, reusable=600, facts=STATED
    ),
    "the text was changed": evidence(
        call(0, 1350, 0, 0, **MARKED),
        call(1, 1404, 0, 0, **MARKED),
        relation="rewrite",
        divergence=A_CHANGE,
        facts=HAIKU,
    ),
    "warm by the time of its first token": evidence(
        call(0, 700, 0, ttft_s=1.0), call(1, 750, 0, ttft_s=0.1), call(2, 800, 0, ttft_s=0.1), at=1, facts=OPENAI
    ),
    "a first call": evidence(call(0, 1350, 0, 0, **MARKED), facts=HAIKU),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert TooShort().recognise(given) is None
