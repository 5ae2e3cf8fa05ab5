import pytest
from beside_given import A_CHANGE, UNKNOWN, call, evidence

from hitrate.explain.causes.write_delay import WriteDelay


def turns(*rows, at=1, **more):
    """Each row: seconds, prompt tokens, cached tokens."""
    calls = [call(index, prompt, cached, at=second) for index, (second, prompt, cached) in enumerate(rows)]
    return evidence(*calls, at=at, facts=UNKNOWN, **more)


BEHIND = ((0.0, 3000, 0), (6.0, 4000, 0), (12.0, 5000, 3000), (18.0, 6000, 4000), (24.0, 7000, 5000))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (turns((0.0, 3000, 0), (1.4, 3100, 0), (21.4, 3200, 3072)), "The request came 1.4 s after the one before it"),
        (turns((0.0, 3000, 0), (4.0, 3100, 0), (24.0, 3200, 3072), (28.0, 3300, 0), at=3), "4 s after"),
        (turns(*BEHIND, at=2), "was served what the call before the previous one left"),
        (turns(*BEHIND, at=4), "was served what the call before the previous one left"),
    ],
)
def test_an_entry_appears_with_a_delay(given, words):
    found = WriteDelay().recognise(given)
    assert found is not None
    assert found.confidence == "likely"
    assert words in found.summary
    assert not any(line.startswith("a race") for line in found.ruled_out)


NO_FINDING = {
    "a quick call was served": turns((0.0, 3000, 0), (1.4, 3100, 0), (2.8, 3200, 3072)),
    "never served": turns((0.0, 3000, 0), (1.4, 3100, 0), (21.4, 3200, 0)),
    "hits and misses after the same pause": turns((0.0, 3000, 0), (8.0, 3100, 0), (16.0, 3200, 3072)),
    "a miss after a long pause": turns((0.0, 3000, 0), (60.0, 3100, 0), (400.0, 3200, 3072)),
    "served": turns((0.0, 3000, 0), (1.4, 3100, 2944), (21.4, 3200, 3072)),
    "no times": turns((None, 3000, 0), (None, 3100, 0), (None, 3200, 3072)),
    "one call behind is chance": turns((0.0, 3000, 0), (6.0, 4000, 3000), (12.0, 5000, 3000), at=2),
    "another conversation": turns((0.0, 3000, 0), (1.4, 3100, 0), (21.4, 3200, 3072), relation="opening", alone=True),
    "the text was changed": turns(
        (0.0, 3000, 0), (1.4, 3100, 0), (21.4, 3200, 3072), relation="rewrite", divergence=A_CHANGE
    ),
    "nothing reported": turns((0.0, 3000, None), (1.4, 3100, None), (21.4, 3200, None)),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert WriteDelay().recognise(given) is None
