"""Bodies as recipes: what a body is put together from, out of parts that are stored once each.

A recipe is a JSON array. An integer is the id of a part, a string is bytes (UTF-8) as they stand. An array is bytes and
then what they stand between: ids, or arrays of the ids of a value that was cut into blocks.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping

import msgspec

from hitrate.core.recent import Recent
from hitrate.logs.bodies import Joined, Piece, Value, blocks_of, elements_of, split_body

ValueIds = int | list[int]
Item = int | str | list[str | ValueIds]
Recipe = list[Item]

MOST_IDS = 1 << 13
"""Parts whose ids are kept in mind; twice as many at most."""

MOST_BODIES = 64
MOST_BYTES = 8 << 20
"""Bodies kept in mind, as conversations that run at the same time: in number and together."""

_SHORTEST_BODY = 1 << 10
_REPLACED = 3
"""Elements at its end that differ in the next body of a conversation: cache markers wander, a last message changes."""

_PROBE_BYTES = 48
"""At the end of its second element, by which a conversation is told from others with the same opening."""

_decode = msgspec.json.Decoder(Recipe).decode


class Recipes:
    """Makes recipes, adding the parts that are not stored yet. Of a body that goes on from an earlier one, or begins as
    it does, only what is new is looked at."""

    def __init__(self) -> None:
        self._sweeps: int | None = None
        self.forget()

    def forget(self) -> None:
        """After a rollback, or when parts were removed: what is kept in mind may not be stored."""
        self._ids: Recent[bytes, int] = Recent(MOST_IDS)
        self._bodies: dict[_Known, None] = {}
        """The one used last at the end."""
        self._bytes = 0

    def begin(self, connection: sqlite3.Connection) -> None:
        """To be called at the start of each transaction."""
        (sweeps,) = connection.execute("SELECT count FROM sweeps").fetchone()
        if sweeps != self._sweeps:
            self._sweeps = sweeps
            self.forget()

    def recipe_of(self, connection: sqlite3.Connection, body: bytes) -> str:
        known = self._continued(connection, body)
        if known is None:
            recipe, known = self._new(connection, body)
        else:
            recipe = known.recipe()
        if known is not None:
            self._keep(known)
        return msgspec.json.encode(recipe).decode()

    def sizes(self) -> tuple[int, int, int]:
        """Ids, bodies and bytes of bodies kept in mind."""
        return len(self._ids), len(self._bodies), self._bytes

    def _new(self, connection: sqlite3.Connection, body: bytes) -> tuple[Recipe, _Known | None]:
        pieces = split_body(body)
        recipe = [self._item(connection, piece) for piece in pieces]
        lengths = [_length(piece) if isinstance(piece, Joined) else 0 for piece in pieces]
        largest = max(range(len(pieces)), key=lengths.__getitem__, default=0)
        if len(body) < _SHORTEST_BODY or not lengths[largest] or not isinstance(recipe[largest], list):
            return recipe, None
        joined: Joined = pieces[largest]  # type: ignore[assignment]
        end = sum(len(piece) if isinstance(piece, bytes) else _length(piece) for piece in pieces[:largest])
        ends = []
        for value in joined.values:
            end += sum(map(len, value))
            ends.append(end)
            end += len(joined.separator)
        ids: list[ValueIds] = recipe[largest][1:]  # type: ignore[index, assignment]
        if len(ids) != len(ends):  # one long value in blocks
            return recipe, None
        return recipe, _Known(body, recipe[:largest], joined.separator, ids, ends, recipe[largest + 1 :])

    def _continued(self, connection: sqlite3.Connection, body: bytes) -> _Known | None:
        """What is kept in mind of a body, brought forward to this one; None where none begins as it does."""
        for known in reversed(self._bodies):
            if body[known.probe_start : known.probe_end] != known.probe:
                continue
            shared = known.shared_with(body)
            new = known.new_elements(body, shared) if shared else None
            if new is None:
                continue
            ids = [self._value(connection, blocks_of(element)) for element in new]
            if shared >= len(known.ids) - _REPLACED:
                self._drop(known)
            return known.with_elements(body, shared, ids, new)
        return None

    def _item(self, connection: sqlite3.Connection, piece: Piece) -> Item:
        if isinstance(piece, bytes):
            return piece.decode()
        ids = [self._value(connection, value) for value in piece.values]
        if len(ids) == 1 and not piece.separator:
            (only,) = ids
            return only if isinstance(only, int) else ["", *only]
        return [piece.separator.decode(), *ids]

    def _value(self, connection: sqlite3.Connection, blocks: Value) -> ValueIds:
        if len(blocks) == 1:
            return self._id(connection, blocks[0])
        return [self._id(connection, block) for block in blocks]

    def _id(self, connection: sqlite3.Connection, data: bytes) -> int:
        digest = hashlib.sha256(data).digest()
        known = self._ids.get(digest)
        if known is None:
            added = connection.execute(
                "INSERT INTO parts (sha256, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING", (digest, data)
            )
            if added.rowcount:
                known = int(added.lastrowid or 0)
            else:
                (known,) = connection.execute("SELECT id FROM parts WHERE sha256 = ?", (digest,)).fetchone()
            self._ids.put(digest, known)
        return known

    def _keep(self, known: _Known) -> None:
        if len(known.body) > MOST_BYTES:
            return
        self._bodies[known] = None
        self._bytes += len(known.body)
        while len(self._bodies) > MOST_BODIES or self._bytes > MOST_BYTES:
            self._drop(next(iter(self._bodies)))

    def _drop(self, known: _Known) -> None:
        del self._bodies[known]
        self._bytes -= len(known.body)


class _Known:
    """A body with the array that most of it stands in: `head`, then elements with `separator` between, then `tail`.

    `ends` are where in the body each element ends.
    """

    __slots__ = ("body", "ends", "head", "ids", "probe", "probe_end", "probe_start", "separator", "tail")

    def __init__(
        self, body: bytes, head: Recipe, separator: bytes, ids: list[ValueIds], ends: list[int], tail: Recipe
    ) -> None:
        self.body = body
        self.head = head
        self.separator = separator
        self.ids = ids
        self.ends = ends
        self.tail = tail
        self.probe_end = ends[min(1, len(ends) - 1)]
        self.probe_start = max(self.probe_end - _PROBE_BYTES, 0)
        self.probe = body[self.probe_start : self.probe_end]

    def recipe(self) -> Recipe:
        return [*self.head, [self.separator.decode(), *self.ids], *self.tail]

    def shared_with(self, body: bytes) -> int:
        """How many elements, and all in front of them, another body begins with."""
        view = memoryview(self.body)

        def begins(elements: int) -> bool:
            return body.startswith(view[: self.ends[elements - 1]])

        if begins(len(self.ends)):
            return len(self.ends)
        low, high = 0, len(self.ends)  # it begins with `low`, and not with `high`
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if begins(middle) else (low, middle)
        return low

    def new_elements(self, body: bytes, shared: int) -> list[bytes] | None:
        """The elements behind the shared ones; None where another separator or end stands behind them."""
        tail = memoryview(self.body)[self.ends[-1] :]
        start, end = self.ends[shared - 1], len(body) - len(tail)
        if end < start or not body.endswith(tail):
            return None
        if end == start:
            return []
        if not body.startswith(self.separator, start):
            return None
        start += len(self.separator)
        new = body[start:end]
        elements = elements_of(b"[" + new + b"]")
        return elements if elements is not None and self.separator.join(elements) == new else None

    def with_elements(self, body: bytes, shared: int, ids: list[ValueIds], elements: list[bytes]) -> _Known:
        ends = self.ends[:shared]
        for element in elements:
            ends.append(ends[-1] + len(self.separator) + len(element))
        return _Known(body, self.head, self.separator, [*self.ids[:shared], *ids], ends, self.tail)


def _length(piece: Joined) -> int:
    return sum(sum(map(len, value)) for value in piece.values) + len(piece.separator) * (len(piece.values) - 1)


def decode_recipe(text: str) -> Recipe:
    return _decode(text)


def ids_in(recipe: Recipe) -> Iterator[int]:
    for item in recipe:
        if isinstance(item, int):
            yield item
        elif isinstance(item, list):
            for value in item:
                if isinstance(value, int):
                    yield value
                elif isinstance(value, list):
                    yield from value


def body_of(recipe: Recipe, parts: Mapping[int, bytes]) -> bytes:
    """KeyError where a part is missing."""

    def value_of(ids: ValueIds) -> bytes:
        return parts[ids] if isinstance(ids, int) else b"".join([parts[block] for block in ids])

    found = []
    for item in recipe:
        if isinstance(item, int):
            found.append(parts[item])
        elif isinstance(item, str):
            found.append(item.encode())
        else:
            separator, *values = item
            found.append(str(separator).encode().join([value_of(ids) for ids in values]))  # type: ignore[arg-type]
    return b"".join(found)
