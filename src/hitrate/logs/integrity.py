"""Whether a store is whole: every call can be put together from pieces that are what their hashes say."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from hitrate.logs.database import Database
from hitrate.logs.recipe_maker import CUT
from hitrate.logs.recipes import decode_recipe, ids_in
from hitrate.logs.rows import RECIPES

_AT_ONCE = 500


def check_integrity(database: Database) -> list[str]:
    """What is wrong, one line each."""
    problems = [row[0] for row in database.read("PRAGMA integrity_check(20)") if row[0] != "ok"]
    texts = _check_pieces(database, "texts", problems)
    parts = _check_pieces(database, "parts", problems)
    last = 0
    query = f"SELECT id, bytes FROM parts WHERE id > ? AND cut = 1 ORDER BY id LIMIT {_AT_ONCE}"
    while found := database.read(query, (last,)):
        for row in found:
            last = row["id"]
            problems += _problems_of(row["bytes"], texts, f"part {last}", "text")
    last = 0
    query = f"SELECT id, run, position, body, {', '.join(RECIPES)} FROM calls WHERE id > ? ORDER BY id LIMIT {_AT_ONCE}"
    while found := database.read(query, (last,)):
        for row in found:
            last = row["id"]
            place = f"call {row['position']} of run {row['run']}"
            problems += _problems_of(row["body"], parts, place, "part")
            for name in RECIPES:
                if row[name] is not None and row[name].startswith("["):
                    problems += _problems_of(row[name], texts, place, "text")
    return problems


def _check_pieces(database: Database, table: str, problems: list[str]) -> set[int]:
    """The ids that there are."""
    known: set[int] = set()
    last = 0
    columns = "id, sha256, bytes, cut" if table == "parts" else "id, sha256, bytes, 0 AS cut"
    query = f"SELECT {columns} FROM {table} WHERE id > ? ORDER BY id LIMIT {_AT_ONCE}"
    while found := database.read(query, (last,)):
        for row in found:
            last = row["id"]
            known.add(last)
            if hashlib.sha256(row["bytes"] + (CUT if row["cut"] else b"")).digest() != row["sha256"]:
                problems.append(f"{table[:-1]} {last} is not what its hash says")
    return known


def _problems_of(recipe: str | bytes, known: set[int], place: str, kind: str) -> Iterable[str]:
    try:
        missing = [piece for piece in ids_in(decode_recipe(recipe)) if piece not in known]
    except (msgspec.MsgspecError, TypeError) as error:
        return [f"{place}: its recipe cannot be read ({error})"]
    return [f"{place} needs {kind} {missing[0]}, which is not there"] if missing else []
