"""Makes the recipes of bodies and replies, and stores their pieces.

A body is made of `parts`: messages, tools, long values. What the model said stands in the reply of a call, and in the
body of every later call of the conversation, there written by another program. So the long strings in it are `texts`
that both are made of.
"""

from __future__ import annotations

import hashlib
import sqlite3
from itertools import islice
from typing import Literal

from hitrate.core.recent import Recent
from hitrate.logs.bodies import SHORTEST_PART, Joined, Piece, Value, blocks_of, cut_at_texts, elements_of, split_body
from hitrate.logs.recipes import Item, Recipe, ValueIds, encode_recipe, shorten, values_of

MOST_IDS = 1 << 13
"""Pieces of each kind whose ids are kept in mind; twice as many at most."""

MOST_BODIES = 64
MOST_BYTES = 8 << 20
"""Bodies kept in mind, as conversations that run at the same time: in number and together."""

_SHORTEST_BODY = 1 << 10
_REPLACED = 3
"""Elements at its end that differ in the next body of a conversation: cache markers wander, a last message changes."""

_PROBE_BYTES = 2048
"""Of its second element, by which a conversation is told from others with the same opening."""

_ANSWERED = (b'"assistant"', b'"model"')
"""In the messages that repeat what a model said."""

CUT = b"\0"
"""Hashed behind the bytes of a part that is a recipe, so that it is not taken for these bytes themselves."""


class Pieces:
    """The pieces of one kind: ids of those that are stored, by their hash."""

    def __init__(self, table: Literal["parts", "texts"]) -> None:
        self._table = table
        self._ids: Recent[bytes, int] = Recent(MOST_IDS)

    def __len__(self) -> int:
        """Ids kept in mind."""
        return len(self._ids)

    def known(self, digest: bytes) -> int | None:
        return self._ids.get(digest)

    def keep(self, digest: bytes, piece: int) -> None:
        self._ids.put(digest, piece)

    def id_of(self, connection: sqlite3.Connection, data: bytes, digest: bytes) -> int:
        """Of these bytes with this hash, stored now where they are not yet."""
        piece = self._ids.get(digest)
        if piece is None:
            piece = self.store(connection, data, digest)
            self._ids.put(digest, piece)
        return piece

    def store(self, connection: sqlite3.Connection, data: bytes, digest: bytes, *, cut: bool = False) -> int:
        columns, marks = ("sha256, bytes, cut", "?, ?, 1") if cut else ("sha256, bytes", "?, ?")
        added = connection.execute(
            f"INSERT INTO {self._table} ({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING", (digest, data)
        )
        if added.rowcount:
            return int(added.lastrowid or 0)
        return int(connection.execute(f"SELECT id FROM {self._table} WHERE sha256 = ?", (digest,)).fetchone()[0])


class Recipes:
    """Makes recipes, adding the parts that are not stored yet. Of a body that goes on from an earlier one, or begins as
    it does, only what is new is looked at."""

    def __init__(self) -> None:
        self._sweeps: int | None = None
        self.forget()

    def forget(self) -> None:
        """After a rollback, or when parts were removed: what is kept in mind may not be stored."""
        self._parts = Pieces("parts")
        self._texts = Pieces("texts")
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
        return encode_recipe(recipe).decode()

    def of_json(
        self, connection: sqlite3.Connection, headers: str, sources: str, reply: str | None
    ) -> tuple[str, str, str | None]:
        """Recipes of objects, or the objects where they are short: a recipe begins with a bracket."""
        return (
            self._whole(connection, headers),
            self._whole(connection, sources),
            None if reply is None else self._reply(connection, reply),
        )

    def _whole(self, connection: sqlite3.Connection, value: str) -> str:
        """Of what many calls have alike."""
        if len(value) < SHORTEST_PART:
            return value
        data = value.encode()
        return encode_recipe([self._texts.id_of(connection, data, hashlib.sha256(data).digest())]).decode()

    def _reply(self, connection: sqlite3.Connection, reply: str) -> str:
        recipe = self._of_texts(connection, reply.encode())
        return reply if recipe is None else encode_recipe(recipe).decode()

    def sizes(self) -> tuple[int, int, int]:
        """Ids, bodies and bytes of bodies kept in mind."""
        return len(self._parts) + len(self._texts), len(self._bodies), self._bytes

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
        if not joined.separator:  # one long value
            return recipe, None
        short: list[ValueIds] = recipe[largest][1:]  # type: ignore[index, assignment]
        return recipe, _Known(body, recipe[:largest], joined.separator, short, ends, recipe[largest + 1 :])

    def _continued(self, connection: sqlite3.Connection, body: bytes) -> _Known | None:
        """What is kept in mind of a body, brought forward to this one; None where none begins as it does."""
        for known in reversed(self._bodies):
            if not body.startswith(known.probe, known.probe_start):
                continue
            shared = known.shared_with(body)
            new = known.new_elements(body, shared) if shared else None
            if new is None:
                continue
            ids = [self._value(connection, blocks_of(element)) for element in new]
            if shared >= len(known.ends) - _REPLACED:
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
        return [piece.separator.decode(), *shorten([], ids)]

    def _value(self, connection: sqlite3.Connection, blocks: Value) -> ValueIds:
        if len(blocks) == 1:
            return self._id(connection, blocks[0])
        return [self._id(connection, block) for block in blocks]

    def _id(self, connection: sqlite3.Connection, data: bytes) -> int:
        digest = hashlib.sha256(data).digest()
        part = self._parts.known(digest)
        if part is None:
            recipe = self._of_texts(connection, data) if any(role in data for role in _ANSWERED) else None
            if recipe is None:
                part = self._parts.store(connection, data, digest)
            else:
                cut = encode_recipe(recipe)
                part = self._parts.store(connection, cut, hashlib.sha256(cut + CUT).digest(), cut=True)
            self._parts.keep(digest, part)
        return part

    def _of_texts(self, connection: sqlite3.Connection, data: bytes) -> Recipe | None:
        """None where there is no long string in it, or it is no UTF-8."""
        pieces = cut_at_texts(data)
        if len(pieces) == 1 or not _is_utf8(pieces):
            return None
        return [
            self._texts.id_of(connection, piece, hashlib.sha256(piece).digest()) if number % 2 else piece.decode()
            for number, piece in enumerate(pieces)
        ]

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

    `short` are the ids of the elements as a recipe has them, `ends` where in the body each element ends.
    """

    __slots__ = ("body", "ends", "head", "probe", "probe_start", "separator", "short", "tail")

    def __init__(
        self, body: bytes, head: Recipe, separator: bytes, short: list[ValueIds], ends: list[int], tail: Recipe
    ) -> None:
        self.body = body
        self.head = head
        self.separator = separator
        self.short = short
        self.ends = ends
        self.tail = tail
        self.probe_start = ends[0] if len(ends) > 1 else 0
        self.probe = body[self.probe_start : min(ends[:2][-1], self.probe_start + _PROBE_BYTES)]

    def recipe(self) -> Recipe:
        return [*self.head, [self.separator.decode(), *self.short], *self.tail]

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
        if shared == len(self.ends):
            short = shorten(self.short.copy(), ids)
        else:
            short = shorten(shorten([], islice(values_of(self.short), shared)), ids)
        return _Known(body, self.head, self.separator, short, ends, self.tail)


def _is_utf8(pieces: list[bytes]) -> bool:
    try:
        b"".join(pieces[::2]).decode()
    except UnicodeDecodeError:
        return False
    return True


def _length(piece: Joined) -> int:
    return sum(sum(map(len, value)) for value in piece.values) + len(piece.separator) * (len(piece.values) - 1)
