"""Expectations in, outcomes out."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hitrate.core.findings import ExplainReport, Finding, RecordSums, Waterfall
from hitrate.explain.gates import Expectations, breaks, check


def finding(cause: str, verdict="prefix_break", lost_usd=None) -> Finding:
    return Finding(
        verdict=verdict,
        cause=cause,
        call=1,
        against=0,
        pointer="/tools",
        offset=None,
        was=None,
        now=None,
        cacheable_chars=None,
        cacheable_share=None,
        lost_tokens=None,
        lost_usd=lost_usd,
        voice="yours to change",
        confidence="certain",
        summary="",
    )


def report(*findings: Finding, hit_rate=0.9, lost_usd=0.5, unpriced_calls=0, calls=12) -> ExplainReport:
    return ExplainReport(
        log="a.jsonl",
        format="pairs",
        rule_set=None,
        calls=calls,
        sessions=1,
        records=RecordSums(read=calls, used=calls),
        findings=findings,
        waterfall=Waterfall(
            prompt_tokens=1000,
            calls=calls,
            hit_rate=hit_rate,
            labels=(),
            lost_tokens=10,
            lost_usd=lost_usd,
            unpriced_calls=unpriced_calls,
        ),
    )


CLOCK = finding("clock-in-prefix", lost_usd=0.3)
MODEL = finding("model-switched", verdict="key_change", lost_usd=0.1)
EXPIRED = finding("expired", verdict="expiry", lost_usd=0.1)


def described(one: Finding) -> str:
    return f"<{one.cause}>"


@pytest.mark.parametrize(
    ("seen", "least", "outcome", "text"),
    [
        (0.9, 0.8, "held", "hit rate 90.0 %, expected at least 80.0 %"),
        (0.8, 0.8, "held", "hit rate 80.0 %, expected at least 80.0 %"),
        (0.42, 0.8, "failed", "hit rate 42.0 %, expected at least 80.0 %"),
        (0.79999, 0.8, "failed", "hit rate 79.999 %, expected at least 80.0 %"),
        (0.0, 0.0, "held", "hit rate 0.0 %, expected at least 0.0 %"),
        (
            None,
            0.8,
            "not checked",
            "could not check a hit rate of at least 80.0 %: none of 12 calls reports cached tokens; not reported is "
            "not 0, and what could not be checked has not passed",
        ),
        (
            None,
            0.0,
            "not checked",
            "could not check a hit rate of at least 0.0 %: none of 12 calls reports cached tokens; not reported is "
            "not 0, and what could not be checked has not passed",
        ),
    ],
)
def test_hit_rate(seen, least, outcome, text):
    checked = check(report(hit_rate=seen), Expectations(min_hit_rate=least), described)
    (gate,) = checked.gates
    assert (gate.expectation, gate.outcome, gate.stated, gate.seen, gate.text) == (
        "min-hit-rate",
        outcome,
        least,
        seen,
        text,
    )
    assert checked.passed == (outcome == "held")


@pytest.mark.parametrize(
    ("findings", "allow", "outcome", "seen", "text"),
    [
        ((), (), "held", 0, "no breaks in 12 calls"),
        ((EXPIRED,), (), "held", 0, "no breaks in 12 calls"),
        ((CLOCK,), (), "failed", 1, "1 break, expected none: <clock-in-prefix>"),
        ((CLOCK, MODEL), (), "failed", 2, "2 breaks, expected none: <clock-in-prefix>; <model-switched>"),
        ((CLOCK, MODEL), ("clock-in-prefix",), "failed", 1, "1 break, expected none: <model-switched>"),
        ((CLOCK, MODEL), ("clock-in-prefix", "model-switched"), "held", 0, "no breaks in 12 calls, 2 allowed"),
        (
            (CLOCK,) * 5,
            (),
            "failed",
            5,
            "5 breaks, expected none: <clock-in-prefix>; <clock-in-prefix>; <clock-in-prefix>; and 2 more",
        ),
    ],
)
def test_breaks(findings, allow, outcome, seen, text):
    checked = check(report(*findings), Expectations(no_breaks=True, allow=allow), described)
    (gate,) = checked.gates
    assert (gate.expectation, gate.outcome, gate.seen, gate.text) == ("no-breaks", outcome, seen, text)
    assert checked.findings == tuple(one for one in findings if one.cause not in allow)


def test_requests_that_could_not_be_read_have_not_passed():
    left_out = replace(report(), records=RecordSums(read=12, used=12, left_out=3))
    stated = Expectations(no_breaks=True, max_lost_usd=1.0, min_hit_rate=0.5)
    assert [(gate.outcome, gate.text) for gate in check(left_out, stated, described).gates] == [
        ("held", "hit rate 90.0 %, expected at least 50.0 %"),
        ("not checked", "could not check for breaks: the request of 3 of 12 calls could not be read"),
        ("not checked", "could not check a loss of at most $1.00: $0.5 is known, for 3 of 12 calls it is not"),
    ]
    found = check(replace(left_out, findings=(CLOCK,)), Expectations(no_breaks=True), described)
    assert found.gates[0].outcome == "failed"


def test_no_breaks_in_no_calls_is_not_checked():
    (gate,) = check(report(calls=0), Expectations(no_breaks=True), described).gates
    assert (gate.outcome, gate.seen, gate.text) == ("not checked", None, "could not check for breaks: no call was read")


@pytest.mark.parametrize(
    ("lost", "unpriced", "allow", "outcome", "seen", "text"),
    [
        (0.5, 0, (), "held", 0.5, "$0.5 lost, expected at most $0.5"),
        (0.6, 0, (), "failed", 0.6, "$0.6 lost, expected at most $0.5"),
        (0.6, 3, (), "failed", 0.6, "$0.6 lost, expected at most $0.5"),
        (0.6, 0, ("clock-in-prefix",), "held", 0.3, "$0.3 lost, expected at most $0.5"),
        (0.1, 0, ("clock-in-prefix",), "held", 0.0, "$0 lost, expected at most $0.5"),
        (
            0.5,
            3,
            (),
            "not checked",
            0.5,
            "could not check a loss of at most $0.5: $0.5 is known, for 3 of 12 calls it is not",
        ),
        (
            None,
            12,
            (),
            "not checked",
            None,
            "could not check a loss of at most $0.5: no amount is known, for want of prices or reported tokens",
        ),
    ],
)
def test_lost_money(lost, unpriced, allow, outcome, seen, text):
    found = report(CLOCK, EXPIRED, lost_usd=lost, unpriced_calls=unpriced)
    (gate,) = check(found, Expectations(max_lost_usd=0.5, allow=allow), described).gates
    assert (gate.outcome, gate.text) == (outcome, text)
    assert gate.seen == (None if seen is None else pytest.approx(seen))


def test_all_have_to_hold():
    expected = Expectations(min_hit_rate=0.8, no_breaks=True, max_lost_usd=1.0)
    assert check(report(), expected, described).passed
    assert not check(report(CLOCK), expected, described).passed
    assert not check(report(hit_rate=None), expected, described).passed
    assert not check(report(unpriced_calls=1), expected, described).passed


def test_nothing_stated_passes_nothing():
    assert not Expectations().any_stated
    assert not check(report(), Expectations(), described).passed


def test_breaks_of_a_report():
    assert breaks(report(CLOCK, EXPIRED, MODEL)) == [CLOCK, MODEL]
    assert breaks(replace(report(), findings=())) == []
