from __future__ import annotations

import pytest
from breaks import evidence, place, recognised

ORDER = "schema-key-order"


@pytest.mark.parametrize(
    ("pointer", "change", "kind", "name"),
    [
        ("/tools/2/function/parameters/properties", "json order", "tools", ORDER),
        ("/tools/2/input_schema", "json order", "tools", ORDER),
        ("/tools/2/function", "json order", "tools", ORDER),
        ("/tools/0/functionDeclarations/2/parameters/required/1", "list order", "tools", ORDER),
        ("/toolConfig/tools/0/toolSpec/inputSchema/json/properties/a/enum/0", "list order", "tools", ORDER),
        ("/response_format/json_schema/schema/properties", "json order", "schema", ORDER),
        ("/generationConfig/responseSchema/required/0", "list order", "schema", ORDER),
        ("/tools/2/function/parameters/properties", "member added", "tools", "tool-text-changed"),
        ("/response_format/json_schema/schema/properties", "member added", "schema", "response-schema-changed"),
        ("/messages/2/tool_calls/0/function/arguments", "json order", "assistant", "arguments-reserialised"),
        ("/messages/3/content", "json text", "tool", "arguments-reserialised"),
        ("/tools/2/function/description", "line order", "tools", "order-not-kept"),
    ],
)
def test_by_place_and_change(pointer, change, kind, name):
    assert recognised(evidence(place(pointer, change, kind=kind)))[0] == name


def test_what_it_says():
    found = place(
        "/tools/2/input_schema/properties",
        "json order",
        kind="tools",
        was="member order_no",
        now="member notify",
        words='"properties" of tool 3 "refund" has the same members in another order',
    )
    _, said = recognised(evidence(found))
    assert said.confidence == "certain"
    assert said.summary == (
        "The same JSON is written in another way in the tool definitions (/tools/2/input_schema/properties): "
        '"properties" of tool 3 "refund" has the same members in another order.'
    )
    assert "enum" not in said.advice


def test_the_order_of_an_enum_may_mean_something():
    assert "enum" in recognised(evidence(place("/tools/2/parameters/required/0", "list order", kind="tools")))[1].advice
