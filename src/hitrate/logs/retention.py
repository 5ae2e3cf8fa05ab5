"""What leaves the store: the oldest calls of recordings, and parts that no call uses. Also whether all of it is whole.

Calls go in small transactions, so that who records meanwhile never waits long.
"""

from __future__ import annotations

import hashlib
import sqlite3

import msgspec

from hitrate.logs.database import Database
from hitrate.logs.recipes import decode_recipe, ids_in

_CALLS_AT_ONCE = 200
_PARTS_AT_ONCE = 2000
_PAGES_AT_ONCE = 2000
_ROOM = 0.9
"""Of the size allowed, that is left filled: so the next call does not make the limit be looked at again."""


class Retired(msgspec.Struct, frozen=True):
    """`runs` is how many calls each recording lost."""

    runs: dict[str, int]
    parts: int
    bytes_before: int
    bytes_after: int

    @property
    def calls(self) -> int:
        return sum(self.runs.values())


def retire(database: Database, *, older_than: float | None, max_bytes: int | None) -> Retired:
    before = used_bytes(database)
    runs: dict[str, int] = {}
    parts = 0
    if older_than is not None and _retire_older(database, older_than, runs):
        parts += sweep(database)
    if max_bytes is not None:
        while (used := used_bytes(database)) > max_bytes:
            share = 1 - _ROOM * max_bytes / used
            if not _retire_oldest(database, share, runs):
                break
            parts += sweep(database)
    if runs:
        give_back(database)
    return Retired(runs, parts, before, used_bytes(database))


def used_bytes(database: Database) -> int:
    """Of the file, free pages in it left out."""
    pages, free, size = (
        database.read(f"PRAGMA {name}")[0][0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def sweep(database: Database) -> int:
    """Remove the parts that no call uses; how many."""
    marks = _Marks(database)
    marks.take_new_calls()
    (last,) = database.read("SELECT coalesce(max(id), 0) FROM parts")[0]
    removed = 0
    for start in range(0, last + 1, _PARTS_AT_ONCE):
        ids = [
            row[0]
            for row in database.read(
                "SELECT id FROM parts WHERE id BETWEEN ? AND ?", (start, start + _PARTS_AT_ONCE - 1)
            )
        ]
        if all(marks.has(part) for part in ids):
            continue
        with database.transaction() as connection:
            marks.take_new_calls()  # those that came since: they may use an old part again
            unused = [(part,) for part in ids if not marks.has(part)]
            connection.executemany("DELETE FROM parts WHERE id = ?", unused)
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


def check_integrity(database: Database) -> list[str]:
    problems = [row[0] for row in database.read("PRAGMA integrity_check(20)") if row[0] != "ok"]
    known: set[int] = set()
    last = 0
    while found := database.read("SELECT id, sha256, bytes FROM parts WHERE id > ? ORDER BY id LIMIT 500", (last,)):
        for row in found:
            last = row["id"]
            known.add(last)
            if hashlib.sha256(row["bytes"]).digest() != row["sha256"]:
                problems.append(f"part {last} is not what its hash says")
    last = 0
    while found := database.read(
        "SELECT id, run, position, body FROM calls WHERE id > ? ORDER BY id LIMIT 500", (last,)
    ):
        for row in found:
            last = row["id"]
            place = f"call {row['position']} of run {row['run']}"
            try:
                missing = sorted({part for part in ids_in(decode_recipe(row["body"])) if part not in known})
            except (msgspec.MsgspecError, TypeError) as error:
                problems.append(f"{place}: its body is no recipe ({error})")
                continue
            if missing:
                problems.append(f"{place} needs part {missing[0]}, which is not there")
    return problems


class _Marks:
    """The parts that calls use, a bit each."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._bits = bytearray()
        self._last = 0

    def take_new_calls(self) -> None:
        while found := self._database.read(
            "SELECT id, body FROM calls WHERE id > ? ORDER BY id LIMIT 500", (self._last,)
        ):
            for row in found:
                self._last = row["id"]
                self._take(row["body"])

    def has(self, part: int) -> bool:
        return part >> 3 < len(self._bits) and bool(self._bits[part >> 3] & (1 << (part & 7)))

    def _take(self, recipe: str) -> None:
        bits = self._bits
        for part in ids_in(decode_recipe(recipe)):
            if part >> 3 >= len(bits):
                bits.extend(bytes((part >> 3) + 1 - len(bits)))
            bits[part >> 3] |= 1 << (part & 7)


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
