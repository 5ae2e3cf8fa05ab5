"""Bodies put together again from the parts they are stored in."""

from __future__ import annotations

from hitrate.logs.database import Database
from hitrate.logs.recipes import body_of, decode_recipe, ids_in

_MOST_BYTES = 32 << 20
"""Of parts kept in mind, since the calls of a conversation share most of theirs."""

_AT_ONCE = 500


class PartReader:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._parts: dict[int, bytes] = {}
        self._bytes = 0

    def body_of(self, recipe_text: str) -> bytes:
        recipe = decode_recipe(recipe_text)
        if self._bytes > _MOST_BYTES:
            self._parts.clear()
            self._bytes = 0
        missing = sorted({part for part in ids_in(recipe) if part not in self._parts})
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(some))
            for row in self._database.read(f"SELECT id, bytes FROM parts WHERE id IN ({marks})", tuple(some)):
                self._parts[row["id"]] = row["bytes"]
                self._bytes += len(row["bytes"])
        return body_of(recipe, self._parts)
