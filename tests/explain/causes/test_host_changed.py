import pytest
from beside_given import A_CHANGE, CLAUDE, UNKNOWN, call, evidence

from hitrate.explain.causes.host_changed import HostChanged


def turns(*hosts, cached=(0, 0, 0, 0), facts=UNKNOWN, **more):
    calls = [call(index, 2000 + 50 * index, cached[index], host=host) for index, host in enumerate(hosts)]
    return evidence(*calls, facts=facts, **more)


@pytest.mark.parametrize(
    ("given", "confidence", "was", "now"),
    [
        (turns("DeepInfra", "Novita"), "likely", "DeepInfra", "Novita"),
        (turns("a", "a", "b", cached=(0, 1990, 0)), "certain", "a", "b"),
        (turns("a", "a", "b", cached=(0, 0, 0)), "likely", "a", "b"),
        (turns("a", "b", relation="opening", alone=True), "likely", "a", "b"),
        (turns("a", "b", "b", "a", cached=(0, 0, 2040, 0)), "certain", "b", "a"),
    ],
)
def test_another_host_answered(given, confidence, was, now):
    found = HostChanged().recognise(given)
    assert found is not None
    assert (found.confidence, found.was, found.now) == (confidence, was, now)
    assert "x-session-affinity" in found.advice


def test_a_log_may_name_the_provider_as_the_target():
    calls = [call(index, 2000, 0, target=target) for index, target in enumerate(["DeepInfra", "Novita"])]
    found = HostChanged().recognise(evidence(*calls, facts=UNKNOWN))
    assert found is not None
    assert (found.was, found.now) == ("DeepInfra", "Novita")


NO_FINDING = {
    "one host": turns("a", "a", "a"),
    "not told": turns(None, None),
    "told only now": turns(None, "a"),
    "served": turns("a", "b", cached=(0, 1990)),
    "another conversation with another model": evidence(
        call(0, 2000, 0, host="a", key={"/model": '"x"'}),
        call(1, 2000, 0, host="b", key={"/model": '"y"'}),
        relation="opening",
        alone=True,
        facts=UNKNOWN,
    ),
    "another conversation on the same host": turns("a", "a", relation="opening", alone=True),
    "nothing reported": turns("a", "b", cached=(None, None)),
    "the text was changed": turns("a", "b", relation="rewrite", divergence=A_CHANGE),
    "nothing was left to be read": turns("a", "b", facts=CLAUDE, reusable=0),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert HostChanged().recognise(given) is None
