"""JSON that others build on: `schema_version` first, fields as in the structs, described by `schema/*.json`."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, TextIO

import msgspec

from hitrate.report.columns import Value
from hitrate.report.escape import escape_json


def render(value: Value, out: TextIO) -> None:
    """Indented by two, one line break at the end. Characters that cannot be seen are escaped."""
    try:
        document = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError:  # lone surrogates, say from a file name on the command line
        document = json.dumps(msgspec.to_builtins(value), indent=2, ensure_ascii=True)
    out.write(escape_json(document) + "\n")


def schema(kind: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the output of `kind`: test, bench, compare, models or runs."""
    file = resources.files("hitrate.report") / "schema" / f"{kind}.json"
    return json.loads(file.read_text(encoding="utf-8"))
