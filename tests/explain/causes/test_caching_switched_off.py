import pytest
from beside_given import A_CHANGE, OPENAI, VLLM, call, evidence, served_by

from hitrate.explain.causes.caching_switched_off import CachingSwitchedOff

OFF = served_by(VLLM, engine="vllm", args="serve m --no-enable-prefix-caching")
PLAIN = served_by(VLLM, engine="vllm", args="serve m")
ASKED = {"/cache_prompt": "false"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (evidence(call(0), call(1, 2100), facts=OFF), "started with --no-enable-prefix-caching"),
        (
            evidence(call(0), call(1, 2100), facts=served_by(VLLM, engine="sglang", args=["--disable-radix-cache"])),
            "started with --disable-radix-cache",
        ),
        (evidence(call(0), call(1, 2100, others=ASKED), facts=PLAIN), "sets /cache_prompt to false"),
        (evidence(call(0, key=ASKED), call(1, 2100, key=ASKED), facts=VLLM), "sets /cache_prompt to false"),
    ],
)
def test_it_is_switched_off(given, words):
    found = CachingSwitchedOff().recognise(given)
    assert found is not None
    assert found.confidence == "certain"
    assert words in found.summary


NO_FINDING = {
    "on": evidence(call(0), call(1, 2100), facts=PLAIN),
    "asked for": evidence(call(0), call(1, 2100, others={"/cache_prompt": "true"}), facts=PLAIN),
    "served, so it is on": evidence(call(0), call(1, 2100, 1984), call(2, 2200, 0), facts=OFF),
    "served in this call": evidence(call(0), call(1, 2100, 1984), facts=OFF),
    "no server is known": evidence(call(0), call(1, 2100), facts=OPENAI),
    "nothing reported": evidence(call(0, cached=None), call(1, 2100, None), facts=OFF),
    "the text was changed": evidence(call(0), call(1), relation="rewrite", divergence=A_CHANGE, facts=OFF),
    "a first call": evidence(call(0), facts=OFF),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert CachingSwitchedOff().recognise(given) is None
