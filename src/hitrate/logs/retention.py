"""What leaves the store: the oldest calls of recordings, and pieces that nothing uses.

Calls go in small transactions, so that who records meanwhile never waits long.
"""

from __future__ import annotations

import sqlite3

import msgspec

from hitrate.logs.database import Database
from hitrate.logs.recipes import decode_recipe, ids_in
from hitrate.logs.rows import RECIPES

_CALLS_AT_ONCE = 200
_PIECES_AT_ONCE = 2000
_PAGES_AT_ONCE = 2000
_ROOM = 0.9
"""Of the size allowed, that is left filled: so the next call does not make the limit be looked at again."""


class Retired(msgspec.Struct, frozen=True):
    """`runs` is how many calls each recording lost, `pieces` how many parts and texts went with them."""

    runs: dict[str, int]
    pieces: int
    bytes_before: int
    bytes_after: int

    @property
    def calls(self) -> int:
        return sum(self.runs.values())


def retire(database: Database, *, older_than: float | None, max_bytes: int | None) -> Retired:
    before = used_bytes(database)
    runs: dict[str, int] = {}
    pieces = 0
    if older_than is not None and _retire_older(database, older_than, runs):
        pieces += sweep(database)
    if max_bytes is not None:
        while (used := used_bytes(database)) > max_bytes:
            share = 1 - _ROOM * max_bytes / used
            if not _retire_oldest(database, share, runs):
                break
            pieces += sweep(database)
    if runs:
        give_back(database)
    return Retired(runs, pieces, before, used_bytes(database))


def used_bytes(database: Database) -> int:
    """Of the file, free pages in it left out."""
    pages, free, size = (
        database.read(f"PRAGMA {name}")[0][0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def sweep(database: Database) -> int:
    """Remove the pieces that nothing uses; how many."""
    used = _Used(database)
    used.take_new()
    removed = _remove_unused(database, "parts", used, used.parts)
    used.take_cut_parts()
    return removed + _remove_unused(database, "texts", used, used.texts)


def _remove_unused(database: Database, table: str, used: _Used, marks: _Marks) -> int:
    (last,) = database.read(f"SELECT coalesce(max(id), 0) FROM {table}")[0]
    removed = 0
    for start in range(0, last + 1, _PIECES_AT_ONCE):
        span = (start, start + _PIECES_AT_ONCE - 1)
        ids = [row[0] for row in database.read(f"SELECT id FROM {table} WHERE id BETWEEN ? AND ?", span)]
        if all(marks.has(piece) for piece in ids):
            continue
        with database.transaction() as connection:
            used.take_new()  # what came since may use an old piece again
            unused = [(piece,) for piece in ids if not marks.has(piece)]
            connection.executemany(f"DELETE FROM {table} WHERE id = ?", unused)
            connection.execute("UPDATE sweeps SET count = count + 1")
        removed += len(unused)
    return removed


def give_back(database: Database) -> None:
    """Make the file shorter by its free pages."""
    with database.outside_transactions() as connection:
        if connection.execute("PRAGMA auto_vacuum").fetchone()[0] != 2:
            # A file from before this was set when it was made. Once, and only where nobody else has it open.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            try:
                connection.execute("VACUUM")
            except sqlite3.OperationalError:
                return
        while connection.execute("PRAGMA freelist_count").fetchone()[0]:
            connection.execute(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})").fetchall()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


class _Used:
    """The pieces that calls are made of, and the texts that parts are made of. Ids grow and are never used again, so
    what is new is behind what was seen last."""

    def __init__(self, database: Database) -> None:
        self.parts = _Marks()
        self.texts = _Marks()
        self._database = database
        self._last_call = self._last_part = 0
        self._with_cut_parts = False

    def take_new(self) -> None:
        query = f"SELECT id, body, {', '.join(RECIPES)} FROM calls WHERE id > ? ORDER BY id LIMIT 500"
        while found := self._database.read(query, (self._last_call,)):
            for row in found:
                self._last_call = row["id"]
                self.parts.take(row["body"])
                for name in RECIPES:
                    if row[name] is not None and row[name].startswith("["):
                        self.texts.take(row[name])
        if self._with_cut_parts:
            self.take_cut_parts()

    def take_cut_parts(self) -> None:
        """Once those that nothing uses are removed."""
        self._with_cut_parts = True
        query = "SELECT id, bytes FROM parts WHERE id > ? AND cut = 1 ORDER BY id LIMIT 500"
        while found := self._database.read(query, (self._last_part,)):
            for row in found:
                self._last_part = row["id"]
                self.texts.take(row["bytes"])


class _Marks:
    """A set of ids, a bit each."""

    def __init__(self) -> None:
        self._bits = bytearray()

    def take(self, recipe: str | bytes) -> None:
        bits = self._bits
        for piece in ids_in(decode_recipe(recipe)):
            if piece >> 3 >= len(bits):
                bits.extend(bytes((piece >> 3) + 1 - len(bits)))
            bits[piece >> 3] |= 1 << (piece & 7)

    def has(self, piece: int) -> bool:
        return piece >> 3 < len(self._bits) and bool(self._bits[piece >> 3] & (1 << (piece & 7)))


def _retire_older(database: Database, older_than: float, runs: dict[str, int]) -> int:
    """Calls without a time go with the ones before them."""
    removed = 0
    for (run,) in database.read("SELECT run FROM recordings"):
        (newest,) = database.read(
            "SELECT coalesce(min(position) FILTER (WHERE at >= ?) - 1, max(position)) FROM calls WHERE run = ?",
            (older_than, run),
        )[0]
        removed += _retire_up_to(database, run, newest or 0, runs)
    return removed


def _retire_oldest(database: Database, share: float, runs: dict[str, int]) -> int:
    """Remove this share of all calls of recordings, at least one; how many there were to be removed."""
    recorded = "FROM calls WHERE run IN (SELECT run FROM recordings)"
    (total,) = database.read(f"SELECT count(*) {recorded}")[0]
    wanted = min(total, max(int(total * share), 1))
    removed = 0
    for run, newest in database.read(
        f"SELECT run, max(position) FROM (SELECT run, position {recorded} ORDER BY id LIMIT ?) GROUP BY run", (wanted,)
    ):
        removed += _retire_up_to(database, run, newest, runs)
    return removed


def _retire_up_to(database: Database, run: str, newest: int, runs: dict[str, int]) -> int:
    removed = 0
    while True:
        with database.transaction() as connection:
            found = connection.execute(
                "SELECT position, at FROM calls WHERE run = ? AND position <= ? ORDER BY position LIMIT ?",
                (run, newest, _CALLS_AT_ONCE),
            ).fetchall()
            if not found:
                return removed
            connection.execute("DELETE FROM calls WHERE run = ? AND position <= ?", (run, found[-1]["position"]))
            until = max((row["at"] for row in found if row["at"] is not None), default=None)
            connection.execute(
                "UPDATE recordings SET retired_calls = retired_calls + :calls, "
                "retired_until = coalesce(max(retired_until, :until), :until, retired_until) WHERE run = :run",
                {"calls": len(found), "until": until, "run": run},
            )
        removed += len(found)
        runs[run] = runs.get(run, 0) + len(found)
