import pytest
from beside_given import A_CHANGE, CLAUDE, OPENAI, UNKNOWN, call, evidence

from hitrate.explain.causes.markers_not_read import MarkersNotRead

STRAY = {
    "stray_marks": ("/system/0/cache_control", "/messages/0/content/0/cache_control"),
    "dialect": "bedrock-converse",
}


def test_markers_of_another_api():
    given = evidence(call(0, 9000, 0, 0, **STRAY), call(1, 9100, 0, 0, **STRAY), facts=CLAUDE)
    found = MarkersNotRead().recognise(given)
    assert found is not None
    assert found.confidence == "likely"
    assert "2 markers (first at /system/0/cache_control)" in found.summary
    assert "cachePoint" in found.advice


def test_at_an_unknown_provider_it_is_possible():
    wrong = {"stray_marks": ("/messages/0/cachePoint",), "dialect": "openai-chat"}
    found = MarkersNotRead().recognise(evidence(call(0, 9000, 0, **wrong), call(1, 9100, 0, **wrong), facts=UNKNOWN))
    assert found is not None
    assert found.confidence == "possible"
    assert found.summary.startswith("The marker (first at /messages/0/cachePoint)")


NO_FINDING = {
    "served by an automatic cache": evidence(call(0, 9000, 0, **STRAY), call(1, 9100, 8960, **STRAY), facts=OPENAI),
    "a marker that is read stands beside it": evidence(
        call(0, 9000, 0, 0, **STRAY), call(1, 9100, 0, 0, marks=((3, 9000),), **STRAY), facts=CLAUDE
    ),
    "no stray markers": evidence(call(0, 9000, 0, 0), call(1, 9100, 0, 0), facts=CLAUDE),
    "nothing reported": evidence(call(0, 9000, None, **STRAY), call(1, 9100, None, **STRAY), facts=CLAUDE),
    "too short to matter": evidence(call(0, 12, 0, 0, **STRAY), call(1, 24, 0, 0, **STRAY), facts=CLAUDE),
    "the text was changed": evidence(
        call(0, 9000, 0, **STRAY), call(1, 9100, 0, **STRAY), relation="rewrite", divergence=A_CHANGE, facts=CLAUDE
    ),
    "a first call": evidence(call(0, 9000, 0, 0, **STRAY), facts=CLAUDE),
    "warm by the time of its first token": evidence(
        call(0, 9000, 0, ttft_s=2.0, **STRAY), call(1, 9100, 0, ttft_s=0.2, **STRAY), facts=CLAUDE
    ),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert MarkersNotRead().recognise(given) is None
