"""Which faults there are, how they are written, and which calls they strike."""

from __future__ import annotations

import pytest

from hitrate.errors import UsageError
from hitrate.serve.practice.faults import KINDS, ActiveFaults, Fault, parse_fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("429", Fault("429")),
        ("429:every=5", Fault("429", every=5)),
        ("cut:every=2,after=7", Fault("cut", every=2, settings={"after": 7})),
        ("no-usage:probability=0.25", Fault("no-usage", probability=0.25)),
    ],
)
def test_faults_are_read_and_written_alike(text, fault):
    assert parse_fault(text) == fault
    assert str(fault) == text or parse_fault(str(fault)) == fault


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("fire", "use one of 429, 500, cut, slow"),
        ("429:after=5", r"it takes every=K, probability=P, retry_after=N"),
        ("cut:every=0", "cannot be set to 'every=0'"),
        ("cut:every=often", "cannot be set to 'every=often'"),
        ("cut:probability=2", "not between 0 and 1"),
        ("cut:probability=often", "not between 0 and 1"),
        ("cut:probability=nan", "not between 0 and 1"),
    ],
)
def test_what_cannot_be_read_says_what_can(text, says):
    with pytest.raises(UsageError, match=says):
        parse_fault(text)


def test_every_kth_call():
    assert [call for call in range(1, 12) if parse_fault("cut:every=5").strikes(call, seed=0)] == [5, 10]


def test_probability_is_drawn_by_seed_and_call():
    fault = parse_fault("cut:probability=0.3")
    struck = [call for call in range(1, 1001) if fault.strikes(call, seed=1)]
    assert struck == [call for call in range(1, 1001) if fault.strikes(call, seed=1)]
    assert struck != [call for call in range(1, 1001) if fault.strikes(call, seed=2)]
    assert 240 < len(struck) < 360
    assert not any(parse_fault("cut:probability=0").strikes(call, 1) for call in range(1, 100))


def test_active_faults_have_their_defaults_filled_in():
    faults = (parse_fault("cut:every=2"), parse_fault("slow:ms=5"), parse_fault("crlf"))
    assert ActiveFaults(faults, call=1, seed=0) == {"slow": {"ms": 5}, "crlf": {}}
    assert ActiveFaults(faults, call=2, seed=0) == {"cut": {"after": 3}, "slow": {"ms": 5}, "crlf": {}}


@pytest.mark.parametrize("name", KINDS)
def test_every_fault_says_what_it_does(name):
    assert parse_fault(name).name == name
    assert KINDS[name].summary
