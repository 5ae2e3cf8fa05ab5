import pytest
from beside_given import UNKNOWN, VLLM, call, evidence

from hitrate.explain.causes.unknown_setting_changed import UnknownSettingChanged

ONE, TWO = {"/route/tier": '"a"'}, {"/route/tier": '"b"'}

NO_FINDING = {
    "the same value": evidence(call(0, others=ONE), call(1, others=ONE), facts=VLLM),
    "served": evidence(call(0, others=ONE), call(1, cached=1984, others=TWO), facts=VLLM),
    "half of it served": evidence(call(0, others=ONE), call(1, cached=1000, others=TWO), facts=VLLM),
    "nothing reported": evidence(call(0, cached=None, others=ONE), call(1, cached=None, others=TWO), facts=VLLM),
    "it changed before and did no harm": evidence(
        call(0, others=ONE), call(1, cached=1984, others=TWO), call(2, cached=0, others=ONE), facts=VLLM
    ),
    "another request": evidence(
        call(0, others=ONE), call(1, others=TWO), relation="opening", alone=True, facts=UNKNOWN
    ),
    "a setting that has a cause of its own": evidence(
        call(0, others={"/model": '"a"'}), call(1, others={"/model": '"b"'}), facts=VLLM
    ),
    "no earlier call": evidence(call(0, others=ONE)),
}


def test_it_is_named_as_possible():
    found = UnknownSettingChanged().recognise(evidence(call(0, others=ONE), call(1, 2100, others=TWO), facts=VLLM))
    assert found is not None
    assert (found.confidence, found.pointer, found.was, found.now) == ("possible", "/route/tier", "a", "b")


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert UnknownSettingChanged().recognise(given) is None
