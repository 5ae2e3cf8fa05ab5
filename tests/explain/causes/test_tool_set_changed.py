from __future__ import annotations

import pytest
from breaks import evidence, place, recognised

SET = "tool-set-changed"
ADDED = '2 tools added: "hut_search", "codes"; the lists differ from tool 4 on'


@pytest.mark.parametrize(
    ("pointer", "change", "words", "name"),
    [
        ("/tools/3/name", "list members", ADDED, SET),
        ("/tools/3/function/name", "list members", 'a tool removed: "codes"; the lists differ from tool 4 on', SET),
        ("/tools/5", "list members", 'a tool added: "codes"; the lists differ from tool 6 on', SET),
        ("/tools", "list members", "the tools are gone", SET),
        ("/tools", "list members", "the tools are new: the earlier request had none", SET),
        ("/toolConfig/tools/2/toolSpec/name", "list members", ADDED, SET),
        ("/tools/0/functionDeclarations/3/name", "list members", ADDED, SET),
        ("/tools/3/input_schema/properties/a", "list members", ADDED, SET),  # the schema comes first in these tools
        (
            "/tools/3/function/parameters/properties/agent/enum/2",
            "list members",
            "has one more item",
            "tool-text-changed",
        ),
        ("/tools/3/function", "member added", 'gained the member "strict"', "tool-text-changed"),
        ("/tools/3/function/name", "list order", "the same 5 tools stand in another order", "tool-order"),
    ],
)
def test_by_place_and_change(pointer, change, words, name):
    names = () if pointer == "/tools" else ("hut_search", "codes")
    assert recognised(evidence(place(pointer, change, kind="tools", names=names, words=words)))[0] == name


def test_what_it_says():
    found = place("/tools/3/name", "list members", kind="tools", names=("hut_search", "codes"), words=ADDED)
    _, said = recognised(evidence(found))
    assert said.confidence == "certain"
    assert said.summary == (
        "The set of tools changed (hut_search, codes) at the tool definitions (/tools/3/name): 2 tools added: "
        '"hut_search", "codes"; the lists differ from tool 4 on.'
    )
    assert "very end of the list" in said.advice
