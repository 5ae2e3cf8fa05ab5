"""One value that a JSON Schema allows: arguments for a practice tool call. Equal schemas give equal values."""

from __future__ import annotations

from typing import Any

_DEEPEST = 8
"""Schemas that refer to themselves end here, with null."""

_LONGEST = 1000
"""Items of an array, characters of a text: a schema may ask for more than anyone wants to read."""


def example(schema: Any, root: Any = None, depth: int = 0) -> Any:
    """Required members only, or all of them where none is required. Keywords that are not named here do not count:
    const, enum, default, examples, $ref into the same schema, anyOf, oneOf, allOf, type and its bounds."""
    root = schema if root is None else root
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return None
    for keyword in ("const", "default"):
        if keyword in schema:
            return schema[keyword]
    for keyword in ("enum", "examples"):
        if isinstance(schema.get(keyword), list) and schema[keyword]:
            return schema[keyword][0]
    if isinstance(schema.get("$ref"), str):
        return example(_resolve(schema["$ref"], root), root, depth + 1)
    for keyword in ("anyOf", "oneOf"):
        if isinstance(schema.get(keyword), list) and schema[keyword]:
            return example(schema[keyword][0], root, depth + 1)
    if isinstance(schema.get("allOf"), list) and schema["allOf"]:
        parts = [example(part, root, depth + 1) for part in schema["allOf"]]
        if all(isinstance(part, dict) for part in parts):
            return {name: value for part in parts for name, value in part.items()}
        return parts[0]
    return _of_type(schema, root, depth)


def _of_type(schema: dict[str, Any], root: Any, depth: int) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = kind[0] if kind else "string"
    if kind == "object":
        members = schema.get("properties")
        if not isinstance(members, dict):
            return {}
        required = schema.get("required")
        names = required if isinstance(required, list) and required else list(members)
        return {name: example(members.get(name, {}), root, depth + 1) for name in names if isinstance(name, str)}
    if kind == "array":
        return [example(schema.get("items", {}), root, depth + 1)] * _length(schema, "minItems", 1)
    if kind in ("integer", "number"):
        return _number(schema, kind)
    if kind == "boolean":
        return True
    return None if kind == "null" else _string(schema)


def _number(schema: dict[str, Any], kind: str) -> Any:
    bounds = {name: value for name, value in schema.items() if isinstance(value, int | float)}
    step = bounds.get("multipleOf", 1)
    if "minimum" in bounds:
        return bounds["minimum"]
    if "exclusiveMinimum" in bounds:
        return bounds["exclusiveMinimum"] + step
    if "maximum" in bounds or "exclusiveMaximum" in bounds:
        return min(step, bounds.get("maximum", bounds.get("exclusiveMaximum", 0) - step))
    return step


def _length(schema: dict[str, Any], name: str, otherwise: int) -> int:
    value = schema.get(name)
    return min(max(value, 0), _LONGEST) if type(value) is int else otherwise


_FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "email": "practice@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def _string(schema: dict[str, Any]) -> str:
    text = _FORMATS.get(str(schema.get("format")), "practice").ljust(_length(schema, "minLength", 0), "x")
    return text[: _length(schema, "maxLength", _LONGEST)]


def _resolve(reference: str, root: Any) -> Any:
    """A `#/...` JSON pointer into the schema's root; anything else is not followed."""
    value = root if reference.startswith("#") else None
    for part in reference.removeprefix("#").split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        value = value.get(name) if isinstance(value, dict) else None
    return value
