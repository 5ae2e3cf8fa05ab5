from __future__ import annotations

import pytest
from breaks import divergence, evidence, named, place, recognised

ARGUMENTS = "arguments-reserialised"
CALL = "/messages/2/tool_calls/0/function/arguments"


@pytest.mark.parametrize(
    ("was", "now", "kind", "pointer", "name"),
    [
        ('{"lane":"A","to":"B"}', '{"to":"B","lane":"A"}', "assistant", CALL, ARGUMENTS),
        ('{"lane":"A","to":"B"}', '{"lane": "A", "to": "B"}', "assistant", CALL, ARGUMENTS),
        ('{"city":"Zürich"}', '{"city":"Z\\u00fcrich"}', "assistant", CALL, ARGUMENTS),
        ('{"url":"a/b"}', '{"url":"a\\/b"}', "assistant", "/input/3/arguments", ARGUMENTS),
        ('{"city":"東京"}', '{ "city": "東京" }', "tool", "/messages/3/content", ARGUMENTS),
        ('[{"id":1,"n":2}]', '[{"n":2,"id":1}]', "tool", "/input/4/output", ARGUMENTS),
        ('{"lane":"A"}', '{"lane":"B"}', "assistant", CALL, "history-edited"),
        ('{"n":1.0}', '{"n":1}', "assistant", CALL, "history-edited"),
        ('{"a":1,"b":2}', '{"a":1}', "assistant", CALL, "history-edited"),
        ("lane = A", "lane  = A", "assistant", CALL, "text-form-changed"),
    ],
)
def test_the_same_json_as_other_text(was, now, kind, pointer, name):
    assert named(was, now, kind=kind, pointer=pointer) == name


@pytest.mark.parametrize(
    "pointer",
    [
        "/messages/1/content/0/input",
        "/contents/1/parts/0/functionCall/args",
        "/messages/1/content/0/toolUse/input/place",
    ],
)
def test_arguments_that_are_objects(pointer):
    name, said = recognised(evidence(place(pointer, "json order", kind="assistant", words="members changed places")))
    assert name == ARGUMENTS
    assert said.summary.startswith("The arguments of a tool call in an earlier assistant message")


def test_what_it_says():
    found = divergence('{"a":1,"b":2}', '{"b":2,"a":1}', kind="assistant", pointer=CALL, words="the same JSON")
    _, said = recognised(evidence(found))
    assert said.confidence == "certain"
    assert said.summary == (
        "The arguments of a tool call in an earlier assistant message (/messages/2/tool_calls/0/function/arguments, "
        "character 2) mean the same, but with the members in another order: the same JSON."
    )
