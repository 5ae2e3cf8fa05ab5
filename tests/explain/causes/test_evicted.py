import pytest
from beside_given import A_CHANGE, OPENAI, VLLM, call, evidence, served_by
from msgspec.structs import replace

from hitrate.explain.causes.evicted import Evicted

SMALL = served_by(VLLM, engine="vllm", log=["INFO GPU KV cache size: 20,000 tokens"])
LARGE = served_by(VLLM, engine="vllm", log=["INFO GPU KV cache size: 400,000 tokens"])
SAYS_SO = served_by(VLLM, engine="vllm", log=["WARNING sequence group is preempted by recompute"])
OTHERS = tuple(call(2 + number, 8000, 0, conversation=2 + number) for number in range(3))


def turn(*, cached=0, facts=SMALL, between=OTHERS, **more):
    return evidence(call(0, 5000, 0), call(1, 5100, 4992), call(9, 5200, cached), between=between, facts=facts, **more)


@pytest.mark.parametrize(
    ("given", "confidence", "words"),
    [
        (turn(), "likely", "24,000 tokens of other conversations"),
        (turn(), "likely", "in a cache of 20,000 tokens"),
        (turn(facts=SAYS_SO), "likely", "preempted by recompute"),
        (turn(facts=VLLM, between=OTHERS * 3), "possible", "72,000 tokens"),
        (turn(facts=replace(VLLM, rules={"capacity_blocks": 1000})), "likely", "of 16,000 tokens"),
        (turn(facts=served_by(VLLM, engine="sglang", log="max_total_num_tokens=21000, chunked")), "likely", "21,000"),
    ],
)
def test_more_was_read_than_the_cache_holds(given, confidence, words):
    found = Evicted().recognise(given)
    assert found is not None
    assert found.confidence == confidence
    assert words in found.summary


NO_FINDING = {
    "it holds all": turn(facts=LARGE),
    "nothing came between": turn(between=()),
    "little came between, capacity not known": turn(facts=VLLM),
    "what came between was served from cache": turn(
        between=tuple(call(2 + number, 8000, 7990, conversation=2 + number) for number in range(3))
    ),
    "the conversation itself came between": turn(between=tuple(call(2, 8000, 0) for _ in range(3))),
    "a hosted API": turn(facts=OPENAI, between=OTHERS * 3),
    "served": turn(cached=5088),
    "nothing reported": turn(cached=None),
    "the text was changed": turn(relation="rewrite", divergence=A_CHANGE),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert Evicted().recognise(given) is None
