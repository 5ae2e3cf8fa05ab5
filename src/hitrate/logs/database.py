"""The SQLite file behind the store: opened, brought to the newest schema, read and written in transactions."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hitrate.errors import HitrateError, UsageError

_BUSY_SECONDS = 5.0
_MIGRATIONS = Path(__file__).with_name("migrations")


class StoreUnavailable(HitrateError):
    """The store cannot be opened or written (read-only, disk full, no database). A run can go on without it."""


def default_path() -> Path:
    """HITRATE_STORE, or runs.sqlite3 in the user's data folder."""
    if named := os.environ.get("HITRATE_STORE"):
        return Path(named)
    import platformdirs

    return platformdirs.user_data_path("hitrate") / "runs.sqlite3"


class Database:
    """One connection, for any thread. Other processes may have the same file open."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._lock = threading.RLock()
        self.path = path

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None = None) -> Database:
        """Open or create. StoreUnavailable if that fails, UsageError if a newer hitrate wrote the file."""
        place = default_path() if path is None else Path(path)
        try:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.touch(mode=0o600, exist_ok=True)
            connection = sqlite3.connect(place, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise _unavailable(place, error) from error
        try:
            _prepare(connection, place)
        except sqlite3.Error as error:
            connection.close()
            raise _unavailable(place, error) from error
        except BaseException:
            connection.close()
            raise
        return cls(connection, place)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def read(self, query: str, values: tuple[Any, ...] = ()) -> list[sqlite3.Row]:
        """StoreUnavailable where the file cannot be read."""
        try:
            with self._lock:
                return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise _unavailable(self.path, error) from error

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing. Takes the write lock at once, so that what is read inside is still true when it is written.

        StoreUnavailable where it cannot be had or the file cannot be written.
        """
        try:
            with self._lock, _immediate(self._connection):
                yield self._connection
        except sqlite3.Error as error:
            raise _unavailable(self.path, error) from error

    @contextlib.contextmanager
    def outside_transactions(self) -> Iterator[sqlite3.Connection]:
        """For statements that cannot stand in a transaction."""
        try:
            with self._lock:
                yield self._connection
        except sqlite3.Error as error:
            raise _unavailable(self.path, error) from error


@contextlib.contextmanager
def _immediate(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    migrations = _migrations()
    if _version(connection) < len(migrations):
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # without effect on a file that has tables
        connection.execute("PRAGMA journal_mode = WAL")
        with _immediate(connection):
            for number in range(_version(connection) + 1, len(migrations) + 1):
                for statement in _statements(migrations[number - 1]):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")
    # In WAL mode this risks the last moments at a power cut, not at a crash or a kill, and saves a disk flush a call.
    connection.execute("PRAGMA synchronous = NORMAL")
    if (version := _version(connection)) > len(migrations):
        raise UsageError(
            f"{path} was written by a newer hitrate (schema {version}, this one knows {len(migrations)}): "
            "upgrade hitrate or point HITRATE_STORE at another file"
        )


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _migrations() -> list[str]:
    """The SQL of each schema step; the first makes schema 1."""
    # Not through `importlib.resources`, which takes 4 MB of each process that records.
    return [file.read_text(encoding="utf-8") for file in sorted(_MIGRATIONS.glob("*.sql"))]


def _statements(script: str) -> Iterator[str]:
    """`executescript` would commit before it starts; single statements stay inside the transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _unavailable(path: Path, error: Exception) -> StoreUnavailable:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return StoreUnavailable(
        f"runs are not stored, {path}: {reason}", hint="point HITRATE_STORE at a file that can be written"
    )
