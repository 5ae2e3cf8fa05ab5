from __future__ import annotations

import pytest
from breaks import divergence, evidence, named, place, recognised

IDS = "ids-regenerated"


@pytest.mark.parametrize(
    ("was", "now", "pointer", "change", "name"),
    [
        ("fc_fre00q7x000", "fc_synth_301", "/input/1/id", "id value", IDS),
        ("call_a1", "call_b2", "/messages/2/tool_calls/0/id", "id value", IDS),
        ("call_a1", "call_b2", "/messages/3/tool_call_id", "id value", IDS),
        ("toolu_01A", "toolu_01B", "/messages/1/content/1/id", "id value", IDS),
        ("toolu_01A", "toolu_01B", "/messages/2/content/0/tool_use_id", "id value", IDS),
        ("tooluse_x", "tooluse_y", "/messages/1/content/0/toolUse/toolUseId", "id value", IDS),
        ("call_a1", "call_b2", "/input/2/call_id", None, IDS),
        ("msg_1", "msg_2", "/input/4/id", None, IDS),
        ("a8f3c2d1e9", "b7e4d3c2f8", "/messages/3/content", None, "nonce-in-prefix"),
        ("id: a8f3c2d1e9", "id: b7e4d3c2f8", "/system/0/text", None, "nonce-in-prefix"),
    ],
)
def test_ids_of_items(was, now, pointer, change, name):
    kind = "system" if pointer.startswith("/system") else "assistant"
    assert named(was, now, kind=kind, pointer=pointer, change=change) == name


@pytest.mark.parametrize(
    ("change", "member", "name"),
    [
        ("member removed", "id", IDS),
        ("member added", "id", IDS),
        ("member removed", "status", "history-edited"),
        ("member removed", "reasoning_content", "reasoning-not-replayed"),
    ],
)
def test_an_id_that_came_or_went(change, member, name):
    assert recognised(evidence(place("/input/1", change, kind="assistant", names=(member,))))[0] == name


def test_what_it_says():
    found = divergence("fc_fre00", "fc_synth_3", kind="assistant", pointer="/input/1/id", change="id value")
    _, said = recognised(evidence(found))
    assert said.confidence == "certain"
    assert said.summary == (
        'The id in an earlier assistant message (/input/1/id, character 3) was "fc_fre00" and is "fc_synth_3" now.'
    )
