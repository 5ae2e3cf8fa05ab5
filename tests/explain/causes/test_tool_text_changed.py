from __future__ import annotations

import pytest
from breaks import divergence, evidence, named, place, recognised

TEXT = "tool-text-changed"


@pytest.mark.parametrize(
    ("was", "now", "pointer", "name"),
    [
        ("Agents: anna, jon", "Agents: anna, jon, kim", "/tools/0/function/description", TEXT),
        ("Known files: a.py", "Known files: b.py", "/tools/0/description", TEXT),
        (
            "Verfügbare Räume: Saal",
            "Verfügbare Räume: Küche",
            "/tools/0/input_schema/properties/room/description",
            TEXT,
        ),
        ("利用可能な部屋：居間", "利用可能な部屋：台所", "/tools/0/functionDeclarations/0/description", TEXT),
        ("draft", "final", "/tools/0/function/parameters/properties/state/enum/0", TEXT),
        ("Search the web.", "Search the web and the wiki.", "/toolConfig/tools/0/toolSpec/description", TEXT),
        ("It is 09:13:53 now.", "It is 09:14:07 now.", "/tools/0/function/description", "clock-in-prefix"),
        ("Run a8f3c2d1e9 is open.", "Run b7e4d3c2f8 is open.", "/tools/0/function/description", "nonce-in-prefix"),
        ("3 jobs wait.", "4 jobs wait.", "/tools/0/function/description", "counter-in-prefix"),
        ("Search  it.", "Search it.", "/tools/0/function/description", "text-form-changed"),
    ],
)
def test_the_text_of_a_definition(was, now, pointer, name):
    assert named(was, now, kind="tools", pointer=pointer) == name


@pytest.mark.parametrize("change", ["value", "member added", "member removed", "member replaced", "block type"])
def test_other_changes_of_one_tool(change):
    found = place("/tools/1/function/parameters", change, kind="tools", names=("track", "default"), words="it changed")
    assert recognised(evidence(found))[0] == TEXT


def test_what_it_says():
    found = divergence("Agents: anna", "Agents: jon", kind="tools", pointer="/tools/0/function/description")
    _, said = recognised(evidence(found))
    assert said.confidence == "certain"
    assert said.summary == (
        'A description in the tool definitions (/tools/0/function/description, character 8) changed: "Agents: anna" '
        'became "Agents: jon".'
    )
