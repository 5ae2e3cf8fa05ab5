"""A dict of bounded size that forgets what was not asked for lately."""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Keeps at least the `limit` entries last put or found, and never more than twice as many.

    Two dicts: when the younger one is full it becomes the older one, whose entries are dropped. So an entry costs two
    look-ups at most and no list of ages.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._younger: dict[K, V] = {}
        self._older: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value of an entry, None where there is none. Counts as asking for it."""
        found = self._younger.get(key)
        if found is None:
            found = self._older.get(key)
            if found is not None:
                self.put(key, found)
        return found

    def put(self, key: K, value: V) -> None:
        if len(self._younger) >= self._limit:
            self._older = self._younger
            self._younger = {}
        self._younger[key] = value

    def __len__(self) -> int:
        """Entries, those counted twice that stand in both dicts."""
        return len(self._younger) + len(self._older)
