"""Bodies and replies put together again from the pieces they are stored in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from hitrate.logs.database import Database
from hitrate.logs.recipes import Recipe, decode_recipe, ids_in, made_of

_MOST_BYTES = 32 << 20
"""Of pieces kept in mind, since the calls of a conversation share most of theirs."""

_AT_ONCE = 500


class PartReader:
    """KeyError where a piece is not there, as when the call was removed since it was read."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._parts: dict[int, bytes] = {}
        self._texts: dict[int, bytes] = {}
        self._bytes = 0

    def body_of(self, recipe_text: str) -> bytes:
        recipe = decode_recipe(recipe_text)
        self._forget_some()
        self._load("parts", ids_in(recipe))
        return made_of(recipe, self._parts)

    def json_of(self, recipe_text: str | None) -> str | None:
        """The JSON of an object, which may be stored as it is."""
        if recipe_text is None or not recipe_text.startswith("["):
            return recipe_text
        recipe = decode_recipe(recipe_text)
        self._forget_some()
        self._load("texts", ids_in(recipe))
        return made_of(recipe, self._texts).decode()

    def _forget_some(self) -> None:
        if self._bytes > _MOST_BYTES:
            self._parts.clear()
            self._texts.clear()
            self._bytes = 0

    def _load(self, table: Literal["parts", "texts"], ids: Iterable[int]) -> None:
        known = self._parts if table == "parts" else self._texts
        missing = sorted({piece for piece in ids if piece not in known})
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(some))
            cut = {}
            for row in self._database.read(f"SELECT * FROM {table} WHERE id IN ({marks})", tuple(some)):
                known[row["id"]] = row["bytes"]
                self._bytes += len(row["bytes"])
                if table == "parts" and row["cut"]:
                    cut[row["id"]] = decode_recipe(row["bytes"])
            self._load_cut(cut)

    def _load_cut(self, recipes: dict[int, Recipe]) -> None:
        if not recipes:
            return
        self._load("texts", (text for recipe in recipes.values() for text in ids_in(recipe)))
        for part, recipe in recipes.items():
            self._parts[part] = made_of(recipe, self._texts)
            self._bytes += len(self._parts[part])
