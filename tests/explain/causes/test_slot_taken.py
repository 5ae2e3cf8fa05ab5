import pytest
from beside_given import A_CHANGE, LLAMACPP, ONE_SLOT, VLLM, call, evidence, served_by

from hitrate.explain.causes.slot_taken import SlotTaken

TITLE = call(2, 33, 0, session="title", conversation=9)
OTHER = call(3, 900, 0, conversation=8)
TWO_SLOTS = served_by(LLAMACPP, engine="llama-server", args="--parallel 2 --cache-ram 0")
STORED = served_by(LLAMACPP, engine="llama-server", args="-np 1")
OLLAMA = served_by(LLAMACPP, engine="ollama")


def turn(*, cached=1, facts=ONE_SLOT, between=(TITLE,), **more):
    return evidence(call(0, 1164, 0), call(1, 1208, 1162), call(4, 1223, cached), between=between, facts=facts, **more)


@pytest.mark.parametrize(
    ("given", "confidence", "words"),
    [
        (turn(), "certain", "first request 2 (title), used the only slot, and the host-memory store"),
        (turn(facts=STORED), "likely", "used the only slot; the"),
        (turn(facts=OLLAMA), "likely", "the only slot"),
        (
            turn(facts=TWO_SLOTS, between=(TITLE, OTHER)),
            "certain",
            "2 other prompts, first request 2 (title), used all 2 slots",
        ),
        (turn(facts=LLAMACPP), "possible", "used its slot"),
        (turn(cached=0), "certain", "Between request 1 and this one"),
    ],
)
def test_another_prompt_used_the_slot(given, confidence, words):
    found = SlotTaken().recognise(given)
    assert found is not None
    assert found.confidence == confidence
    assert words in found.summary


NO_FINDING = {
    "nothing came between": turn(between=()),
    "fewer prompts than slots": turn(facts=TWO_SLOTS),
    "the same conversation came between": turn(between=(call(2, 1210, 0, conversation=0),)),
    "what came between was refused": turn(between=(call(2, 33, 0, conversation=9, answered=False),)),
    "served": turn(cached=1206),
    "an engine with blocks": turn(facts=VLLM),
    "nothing reported": turn(cached=None),
    "the text was changed": turn(relation="rewrite", divergence=A_CHANGE),
    "a first call": evidence(call(0, 1164, 0), between=(TITLE,), facts=ONE_SLOT),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert SlotTaken().recognise(given) is None
