import pytest
from beside_given import A_CHANGE, CLAUDE, OPENAI, UNKNOWN, call, evidence

from hitrate.explain.causes.parallel_start import ParallelStart


def worker(index, at, cached=0, written=1819, **more):
    return call(index, 1829, cached, written, at=at, conversation=index, marks=((6, 7276),), **more)


def started(first, second, facts=CLAUDE, between=(), reusable=1819, **more):
    return evidence(
        first,
        second,
        relation="opening",
        alone=True,
        shared=7276,
        reusable=reusable,
        between=between,
        facts=facts,
        **more,
    )


@pytest.mark.parametrize(
    ("given", "confidence", "words"),
    [
        (started(worker(0, 0.0, done=3.0), worker(1, 0.04, done=3.0)), "certain", "0.04 s after request 0"),
        (started(worker(0, 0.0, done=3.0), worker(1, 0.04)), "certain", "1,819 tokens were written a second time"),
        (started(worker(0, 0.0, ttft_s=1.2), worker(1, 1.0)), "certain", "1 s after request 0"),
        (started(worker(0, 0.0), worker(1, 0.5)), "likely", "0.5 s after request 0"),
        (started(worker(0, 0.0), worker(1, 0.0)), "likely", "0 s after"),
        (
            started(worker(0, 0.0, done=3.0), worker(3, 0.12), between=(worker(1, 0.04), worker(2, 0.08))),
            "certain",
            "0.12 s after request 0",
        ),
        (
            evidence(call(0, 5000, 0, at=0.0, done=9.0), call(1, 5100, 0, at=4.0), relation="append", facts=OPENAI),
            "certain",
            "4 s after request 0",
        ),
    ],
)
def test_what_is_being_computed_cannot_be_read(given, confidence, words):
    found = ParallelStart().recognise(given)
    assert found is not None
    assert found.confidence == confidence
    assert words in found.summary
    assert not any(line.startswith("a race") for line in found.ruled_out)


NO_FINDING = {
    "one after the other": started(worker(0, 0.0, done=3.0), worker(1, 3.1)),
    "after the first token": started(worker(0, 0.0, ttft_s=0.4, done=9.0), worker(1, 0.6)),
    "seconds later, no end known": started(worker(0, 0.0), worker(1, 8.0)),
    "no times": started(worker(0, None), worker(1, None)),
    "served": started(worker(0, 0.0, done=3.0), worker(1, 0.04, cached=1819, written=0)),
    "little is shared": started(worker(0, 0.0, done=3.0), worker(1, 0.04), reusable=12, facts=UNKNOWN),
    "the first one failed": started(worker(0, 0.0, done=3.0, answered=False), worker(1, 0.04)),
    "nothing reported": started(worker(0, 0.0, done=3.0), worker(1, 0.04, cached=None, written=None)),
    "the text was changed": evidence(
        call(0, 5000, 0, at=0.0, done=9.0), call(1, 5100, 0, at=4.0), relation="rewrite", divergence=A_CHANGE
    ),
    "nothing of turns that were long ready either": evidence(
        call(0, 5000, 0, at=0.0, done=9.0),
        call(1, 5100, 0, at=60.0, done=69.0),
        call(2, 5200, 0, at=61.0),
        facts=OPENAI,
    ),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert ParallelStart().recognise(given) is None
