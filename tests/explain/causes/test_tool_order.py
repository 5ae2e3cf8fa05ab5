from __future__ import annotations

import pytest
from breaks import evidence, place, recognised

ORDER = "tool-order"
SWAPPED = 'tool 2 "track" and tool 4 "tariff" changed places (the same 5 tools)'


@pytest.mark.parametrize(
    ("pointer", "change", "words", "name"),
    [
        ("/tools/1/function/name", "list order", SWAPPED, ORDER),
        ("/tools/1/name", "list order", SWAPPED, ORDER),
        ("/tools/0/functionDeclarations/1/name", "list order", SWAPPED, ORDER),
        ("/toolConfig/tools/1/toolSpec/name", "list order", SWAPPED, ORDER),
        ("/functions/1/name", "list order", SWAPPED, ORDER),
        ("/tools/1/description", "list order", SWAPPED, ORDER),
        ("/tools/1/input_schema/properties", "list order", SWAPPED, ORDER),  # the schema comes first in these tools
        (
            "/tools/1/function/parameters/required/0",
            "list order",
            "holds the same 3 items in another order",
            "schema-key-order",
        ),
        (
            "/tools/1/function/parameters/properties",
            "json order",
            "has the same members in another order",
            "schema-key-order",
        ),
        ("/tools/1/function/name", "list members", 'a tool added: "track"; the lists differ', "tool-set-changed"),
        ("/tools/1/function/description", "text", "differs", "tool-text-changed"),
    ],
)
def test_by_place_and_change(pointer, change, words, name):
    found = evidence(place(pointer, change, kind="tools", names=("track", "tariff"), words=words, offset=None))
    assert recognised(found)[0] == name


def test_messages_in_another_order_are_no_tools():
    found = evidence(place("/messages/3/content", "list order", kind="tool", names=("/messages/3", "/messages/4")))
    assert recognised(found)[0] == "order-not-kept"


def test_what_it_says():
    found = place(
        "/tools/1/function/name",
        "list order",
        kind="tools",
        was="ariff",
        now="rack",
        offset=1,
        value_was="tariff",
        value_now="track",
        names=("track", "tariff"),
        words=SWAPPED,
    )
    _, said = recognised(evidence(found))
    assert said.confidence == "certain"
    assert said.summary == (
        "The same tools come in another order from the tool definitions (/tools/1/function/name, character 1) on: "
        '"tariff" stood where "track" stands now; moved: track, tariff.'
    )
    assert "Sort the tools by name" in said.advice
