"""Replies are real tokens; tool arguments are what the schema allows."""

from __future__ import annotations

import json

import jsonschema
import pytest

from hitrate.serve.practice.replies import FIRST_WORDS, WORDS
from hitrate.serve.practice.schema_example import example
from hitrate.tokens.o200k import O200k


def test_every_word_is_one_token_wherever_it_stands():
    encode = O200k().encode
    text = FIRST_WORDS[0] + "".join(f" {word}" for word in WORDS) + "".join(f" {word}" for word in reversed(WORDS))
    assert len(encode(text)) == 1 + 2 * len(WORDS)
    assert all(len(encode(word)) == 1 for word in FIRST_WORDS)
    assert len(set(WORDS)) == len(WORDS)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, "practice"),
        ({"type": "object"}, {}),
        ({"type": "object", "properties": {"a": {"type": "boolean"}}}, {"a": True}),
        ({"properties": {"a": {"type": "null"}, "b": {}}, "required": ["a"]}, {"a": None}),
        ({"enum": ["größe", "x"]}, "größe"),
        ({"const": 7}, 7),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "integer", "exclusiveMinimum": 3}, 4),
        ({"type": "number", "maximum": -2}, -2),
        ({"type": "integer", "multipleOf": 5}, 5),
        ({"type": "string", "minLength": 10}, "practicexx"),
        ({"type": "string", "maxLength": 4}, "prac"),
        ({"type": "string", "format": "date"}, "2026-01-31"),
        ({"type": ["integer", "null"]}, 1),
        ({"type": "array", "items": {"type": "integer"}}, [1]),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 3}, [1, 1, 1]),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 1),
        ({"allOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {"const": 2}}}]}, {"a": 1, "b": 2}),
        ({"$ref": "#/$defs/id", "$defs": {"id": {"type": "integer"}}}, 1),
    ],
)
def test_examples_are_what_the_schema_allows(schema, value):
    found = example(schema)
    assert found == value
    jsonschema.validate(found, schema)


@pytest.mark.parametrize(
    "schema",
    [
        True,
        None,
        {"$ref": "https://example.com/other"},
        {"$ref": "#/nowhere"},
        {"properties": {"a": {"$ref": "#"}}},
        {"type": []},
        {"type": "object", "properties": [], "required": [1]},
        {"enum": []},
    ],
)
def test_odd_schemas_still_give_json(schema):
    json.dumps(example(schema))
