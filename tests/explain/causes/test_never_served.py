import pytest
from beside_given import A_CHANGE, OPENAI, UNKNOWN, call, evidence

from hitrate.explain.causes.never_served import NeverServed


def turns(*cached, at=1, facts=UNKNOWN, affinity=None, **more):
    calls = [
        call(index, 9000 + 100 * index, one, at=20.0 * index, affinity=affinity) for index, one in enumerate(cached)
    ]
    return evidence(*calls, at=at, facts=facts, **more)


@pytest.mark.parametrize(
    ("given", "words", "advice"),
    [
        (turns(0, 0, 0), "None of 2 requests", "x-session-affinity"),
        (turns(0, 0, 0, 0, at=3), "None of 3 requests", "Send one prompt twice"),
        (turns(0, 0, 0, affinity="talk"), "after several calls.", "whether the model is cached."),
        (turns(0, 0, 0, facts=OPENAI), "None of 2 requests", "prompt_cache_key"),
    ],
)
def test_not_one_call_was_served(given, words, advice):
    found = NeverServed().recognise(given)
    assert found is not None
    assert found.confidence == "possible"
    assert words in found.summary
    assert advice in found.advice
    assert "the text: the earlier prompt stands unchanged in front" in found.ruled_out


NO_FINDING = {
    "one miss": turns(0, 0),
    "served later": turns(0, 0, 8960),
    "served before": turns(0, 8960, 0, at=2),
    "served": turns(0, 8960, 9088),
    "nothing reported": turns(None, None, None),
    "other conversations": turns(0, 0, 0, relation="opening", alone=True),
    "the text was changed": turns(0, 0, 0, relation="rewrite", divergence=A_CHANGE),
    "short": evidence(call(0, 120, 0), call(1, 150, 0), call(2, 170, 0), at=1, facts=UNKNOWN),
    "warm by the time of its first token": evidence(
        call(0, 9000, 0, ttft_s=3.0), call(1, 9100, 0, ttft_s=0.3), call(2, 9200, 0, ttft_s=0.3), at=1, facts=UNKNOWN
    ),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert NeverServed().recognise(given) is None
