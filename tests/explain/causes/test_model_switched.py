import pytest
from beside_given import A_CHANGE, call, evidence

from hitrate.explain.causes.model_switched import ModelSwitched

A, B = {"/model": '"gpt-5.4"'}, {"/model": '"gpt-5.4-mini"'}

SWITCHED = evidence(call(0, 2000, 0, key=A), call(1, 2100, 1920, key=A), call(2, 2200, 0, key=B))
NOT_REPORTED = evidence(call(0, 2000, None, key=A), call(1, 2100, None, key=B))

NO_FINDING = {
    "the same model": evidence(call(0, 2000, 0, key=A), call(1, 2100, 0, key=A)),
    "served all the same": evidence(call(0, 2000, 0, key=A), call(1, 2100, 1920, key=B)),
    "back to a model whose entry is still there": evidence(
        call(0, 2000, 0, key=A), call(1, 2100, 0, key=B), call(2, 2200, 1920, key=A)
    ),
    "back to it, and it is gone: not the switch's doing": evidence(
        call(0, 2000, 0, key=A), call(1, 2100, 0, key=B), call(2, 2200, 0, key=A)
    ),
    "a known model, nothing reported": evidence(
        call(0, 2000, None, key=A), call(1, 2100, None, key=B), call(2, 2200, None, key=A)
    ),
    "another conversation with another model": evidence(
        call(0, 2000, 0, key=A), call(1, 2100, 0, key=B), relation="opening", alone=True
    ),
    "the text was changed": evidence(
        call(0, 2000, 0, key=A), call(1, 2100, 0, key=B), relation="rewrite", divergence=A_CHANGE
    ),
    "the earlier call failed": evidence(call(0, 2000, 0, key=A, answered=False), call(1, 2100, 0, key=B)),
    "another setting": evidence(
        call(0, 2000, 0, key={**A, "/reasoning/effort": '"low"'}),
        call(1, 2100, 0, key={**A, "/reasoning/effort": '"high"'}),
    ),
    "a first call": evidence(call(0, 2000, 0, key=A)),
}


def test_a_switch_is_named_with_both_models():
    found = ModelSwitched().recognise(SWITCHED)
    assert found is not None
    assert (found.confidence, found.pointer, found.was, found.now) == ("certain", "/model", "gpt-5.4", "gpt-5.4-mini")
    assert "gpt-5.4-mini" in found.summary
    assert any(line.startswith("the text") for line in found.ruled_out)
    assert not any(line.startswith("the key") for line in found.ruled_out)


def test_a_switch_is_a_loss_by_rule_where_nothing_is_reported():
    found = ModelSwitched().recognise(NOT_REPORTED)
    assert found is not None
    assert (found.confidence, found.pointer) == ("likely", "/model")


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert ModelSwitched().recognise(given) is None
