"""JSON that others build on: `schema_version` first, fields as in the structs, described by `schema/*.json`."""

from __future__ import annotations

import json
from typing import Any, TextIO

import msgspec

from hitrate.core.comparison import REASONS
from hitrate.core.results import SCHEMA_VERSION, STATES
from hitrate.report import kinds
from hitrate.report.escape import escape_json
from hitrate.report.kinds import Value

_SHARES = frozenset({"hit_rate", "hit_rate_a", "hit_rate_b", "share", "cacheable_share"})


def render(value: Value, out: TextIO) -> None:
    """Indented by two, one line break at the end. Characters that cannot be seen are escaped."""
    try:
        document = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError:  # lone surrogates, say from a file name on the command line
        document = json.dumps(msgspec.to_builtins(value), indent=2, ensure_ascii=True)
    out.write(escape_json(document) + "\n")


def schema(kind: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the output of `kind`: one of `kinds.names()`."""
    from importlib import resources

    file = resources.files("hitrate.report") / "schema" / f"{kind}.json"
    return json.loads(file.read_text(encoding="utf-8"))


def describe(kind: str) -> dict[str, Any]:
    """What `schema/{kind}.json` has to hold, from the structs: every field is always written, no other ever is."""
    described = msgspec.json.schema(kinds.named(kind).TYPE)
    for definition in described["$defs"].values():
        properties: dict[str, dict[str, Any]] = definition["properties"]
        definition["required"] = list(properties)
        definition["additionalProperties"] = False
        for name, field in properties.items():
            field.pop("default", None)
            if name in _SHARES:
                number = next(option for option in field.get("anyOf", [field]) if option["type"] == "number")
                number |= {"minimum": 0, "maximum": 1}
            elif name == "state":
                field["enum"] = list(STATES)
            elif name == "reason" and kind == "compare":
                field["enum"] = list(REASONS)
    top = described["$defs"][described["$ref"].rpartition("/")[2]]["properties"]
    top["schema_version"] = {"const": SCHEMA_VERSION}
    top["kind"] = {"const": kind}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"hitrate {kind} --json",
        **described,
    }
