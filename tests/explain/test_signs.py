import pytest

from hitrate.core.model import Usage
from hitrate.explain.evidence import Evidence, Facts, Pair, Seen
from hitrate.explain.signs import (
    asked_lifetime_s,
    duration,
    gap_s,
    left_by,
    lifetime_s,
    noise_tokens,
    overlap,
    served_nothing,
    shown,
)

MARKED, EXACT = Facts(requires_marks=True), Facts(exact_at_breakpoints=True)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("5m", 300.0), ("1h", 3600.0), ("30m", 1800.0), ("24h", 86400.0), ('"24h"', 86400.0), ("300s", 300.0),
        ("300", 300.0), ("0.5h", 1800.0), ("1 hour", 3600.0), ("2 days", 172800.0), ("1500ms", 1.5), ("10 min", 600.0),
        ("", None), ("ephemeral", None), ("in_memory", None), (None, None), ("5 moons", None),
    ],
)  # fmt: skip
def test_lifetimes_as_they_are_written(written, seconds):
    assert lifetime_s(written) == seconds


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.04, "0.04 s"), (0.0, "0 s"), (1.4, "1.4 s"), (8.0, "8 s"), (35.2, "35 s"), (119.0, "119 s"),
        (300.0, "5 min"), (675.0, "675 s (11 min)"), (3600.0, "60 min"), (9000.0, "2.5 h"), (90000.0, "25 h"),
    ],
)  # fmt: skip
def test_durations_as_they_are_said(seconds, said):
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("value", "text"),
    [('"low"', "low"), ("1024", "1024"), ("true", "true"), ("[1,2]", "[1,2]"), ("not json", "not json")],
)
def test_settings_are_shown_without_their_quotes(value, text):
    assert shown(value) == text


@pytest.mark.parametrize(
    ("earlier", "at", "expected"),
    [
        ({"at": 0.0, "done": 3.0}, 2.9, True),
        ({"at": 0.0, "done": 3.0}, 3.0, False),
        ({"at": 0.0, "done": 9.0, "ttft_s": 0.5}, 0.4, True),
        ({"at": 0.0, "done": 9.0, "ttft_s": 0.5}, 0.6, False),
        ({"at": 0.0}, 0.9, True),
        ({"at": 0.0}, 1.0, False),
        ({"at": 5.0, "done": 9.0}, 4.0, False),
        ({}, 1.0, False),
        ({"at": 0.0}, None, False),
    ],
)
def test_overlap(earlier, at, expected):
    assert overlap(Seen(index=0, **earlier), Seen(index=1, at=at)) is expected


def test_a_gap_is_not_known_backwards():
    assert gap_s(Seen(index=0, at=5.0), Seen(index=1, at=8.5)) == 3.5
    assert gap_s(Seen(index=0, at=5.0), Seen(index=1, at=4.0)) is None
    assert gap_s(None, Seen(index=1, at=4.0)) is None


@pytest.mark.parametrize(
    ("facts", "usage", "answered", "tokens"),
    [
        (Facts(), Usage(prompt_tokens=2000, cached_tokens=100), True, 2000),
        (Facts(), Usage(), True, None),
        (Facts(), Usage(prompt_tokens=2000), False, None),
        (MARKED, Usage(prompt_tokens=2000, cached_tokens=1500, written_tokens=400), True, 1900),
        (MARKED, Usage(prompt_tokens=2000, cached_tokens=0, written_tokens=0), True, 0),
        (MARKED, Usage(prompt_tokens=2000, cached_tokens=1500), True, None),
        (EXACT, Usage(prompt_tokens=2000, cached_tokens=0, written_tokens=1990), True, 1990),
    ],
)
def test_what_a_call_leaves(facts, usage, answered, tokens):
    assert left_by(Seen(index=0, usage=usage, answered=answered), facts) == tokens


@pytest.mark.parametrize(
    ("prompt", "cached", "expected"),
    [(2000, 0, True), (2000, 24, True), (2000, 100, True), (2000, 101, False), (2000, None, False), (None, 0, True)],
)
def test_a_templates_head_is_nothing(prompt, cached, expected):
    usage = Usage(prompt_tokens=prompt, cached_tokens=cached)
    assert served_nothing(Seen(index=0, usage=usage)) is expected


@pytest.mark.parametrize(
    ("facts", "relation", "reusable", "tokens"),
    [
        (MARKED, "append", 9000, 16),
        (EXACT, "append", 9000, 16),
        (MARKED, "opening", 9000, 900),
        (Facts(granularity=128), "append", 9000, 256),
        (Facts(granularity=16), "append", 9000, 64),
        (Facts(), "append", 9000, 256),
        (Facts(), "branch", 9000, 900),
        (Facts(), "repeat", None, 256),
    ],
)
def test_what_counts_as_noise(facts, relation, reusable, tokens):
    given = Evidence(
        call=Seen(index=1), before=None, pair=Pair(relation=relation), facts=facts, reusable_tokens=reusable
    )
    assert noise_tokens(given) == tokens


@pytest.mark.parametrize(
    ("written", "usual", "lifetime"),
    [("1h", 300.0, 3600.0), (None, 300.0, 300.0), (None, None, None), ("0s", 300.0, 0.0), ("soon", 300.0, 300.0)],
)
def test_the_lifetime_of_a_marker_is_the_one_it_names_else_the_usual_one(written, usual, lifetime):
    assert asked_lifetime_s(written, Facts(ttl_s=usual)) == lifetime
