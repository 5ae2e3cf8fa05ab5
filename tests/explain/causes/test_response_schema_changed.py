from __future__ import annotations

import pytest
from breaks import evidence, named, place, recognised

SCHEMA = "response-schema-changed"


@pytest.mark.parametrize(
    ("pointer", "change"),
    [
        ("/response_format", "list members"),
        ("/response_format/json_schema/name", "replaced"),
        ("/response_format/json_schema/schema/properties", "member added"),
        ("/response_format/json_schema/schema/properties", "member removed"),
        ("/text/format/schema/properties/city/type", "text"),
        ("/generationConfig/responseSchema/properties", "member replaced"),
        ("/output_config/format", "block type"),
        ("/format", "value"),
    ],
)
def test_another_schema(pointer, change):
    name, said = recognised(evidence(place(pointer, change, kind="schema", words="the schema is another one")))
    assert (name, said.confidence) == (SCHEMA, "likely")
    assert (
        said.summary
        == f"Another response schema is asked for (the response schema ({pointer})): the schema is another one."
    )


@pytest.mark.parametrize("change", ["json order", "list order"])
def test_another_order_alone_is_no_other_schema(change):
    assert recognised(evidence(place("/response_format/json_schema", change, kind="schema")))[0] == "schema-key-order"


def test_text_of_the_schema():
    assert (
        named("A city.", "A town.", kind="schema", pointer="/response_format/json_schema/schema/description") == SCHEMA
    )
    assert named("A city.", "A city. ", kind="schema", pointer="/text/format/schema/description") == "text-form-changed"
