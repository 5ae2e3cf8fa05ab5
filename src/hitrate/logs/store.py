"""The store of runs: one SQLite file, written while a run goes on, so that a run cut off keeps what was measured.

It opens with plain `sqlite3`; the columns are documented in `migrations/*.sql`. Prompts are in it, so file and folder
are for the user alone. Keys and cookies never are: the client keeps them out, and `add_call` refuses them again.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import platformdirs

from hitrate.core.model import Call
from hitrate.core.probe_results import ProbeResult
from hitrate.core.results import SCHEMA_VERSION, BenchResult, TestResult
from hitrate.errors import HitrateError, UsageError
from hitrate.logs import rows
from hitrate.logs.bodies import split_body

RunResult = TestResult | BenchResult | ProbeResult
"""What a run can end in."""

RESULT_TYPES: dict[str, type[RunResult]] = {"test": TestResult, "bench": BenchResult, "probe": ProbeResult}

SECRET_HEADERS = frozenset(
    {
        "api-key",
        "authorization",
        "cookie",
        "proxy-authorization",
        "set-cookie",
        "x-amz-security-token",
        "x-api-key",
        "x-auth-token",
        "x-goog-api-key",
    }
)

_ID_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
"""Without 0/o and 1/i/l, which people mistake for each other."""

_BUSY_SECONDS = 5.0


class StoreUnavailable(HitrateError):
    """The store cannot be opened or written (read-only, disk full, no database). A run can go on without it."""


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the list of runs. `hit_rate` is over the calls that report, the warm-up call apart; `finished` is
    False for a cut-off run."""

    id: str
    kind: str
    target: str
    model: str | None
    started_at: str
    command: str
    calls: int
    hit_rate: float | None
    finished: bool


class RunList(msgspec.Struct, frozen=True, kw_only=True):
    schema_version: int = SCHEMA_VERSION
    kind: str = "runs"
    store: str
    runs: tuple[RunSummary, ...]


def default_path() -> Path:
    """HITRATE_STORE, or runs.sqlite3 in the user's data folder."""
    named = os.environ.get("HITRATE_STORE")
    return Path(named) if named else platformdirs.user_data_path("hitrate") / "runs.sqlite3"


class Store:
    """Calls may come from any thread; each is committed before `add_call` returns."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self.path = path

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None = None) -> Store:
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

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin_run(self, kind: str, target: str, model: str | None, command: str, started_at: str) -> str:
        """The id of a new run."""
        values = tuple(rows.plain(value) for value in (kind, target, model, command, started_at))
        with self._transaction() as connection:
            while True:
                run_id = "r" + "".join(secrets.choice(_ID_LETTERS) for _ in range(5))
                added = connection.execute(
                    "INSERT INTO runs (id, kind, target, model, command, started_at) VALUES (?, ?, ?, ?, ?, ?) "
                    "ON CONFLICT (id) DO NOTHING",
                    (run_id, *values),
                )
                if added.rowcount:
                    return run_id

    def add_call(self, run_id: str, call: Call) -> None:
        """Append a call and commit. AssertionError if a header that carries a key or a cookie came this far."""
        for name in (*call.headers, *call.response_headers):
            if name.lower() in SECRET_HEADERS:
                raise AssertionError(f"header {name!r} must not reach the store")
        pieces = split_body(call.body)
        hashes = {hashlib.sha256(piece.data).digest(): piece.data for piece in pieces if piece.is_part}
        columns = rows.from_call(call)
        with self._transaction() as connection:
            ids = _part_ids(connection, hashes)
            recipe = [
                ids[hashlib.sha256(piece.data).digest()] if piece.is_part else piece.data.decode() for piece in pieces
            ]
            columns["body"] = msgspec.json.encode(recipe).decode()
            names = ", ".join(columns)
            connection.execute(
                f"INSERT INTO calls (run, position, {names}) "
                "VALUES (:run, (SELECT coalesce(max(position), 0) + 1 FROM calls WHERE run = :run), "
                f"{', '.join(f':{name}' for name in columns)})",
                {"run": run_id, **columns},
            )

    def finish_run(self, run_id: str, result: RunResult) -> None:
        with self._transaction() as connection:
            connection.execute("UPDATE runs SET result = ? WHERE id = ?", (rows.json_text(result), run_id))

    def runs(self, limit: int = 20) -> list[RunSummary]:
        """Newest first."""
        found = self._read(
            """
            SELECT runs.*,
                   count(calls.position) AS calls,
                   total(cached_tokens) FILTER (WHERE cached_tokens BETWEEN 0 AND prompt_tokens) AS cached,
                   total(prompt_tokens) FILTER (WHERE cached_tokens BETWEEN 0 AND prompt_tokens) AS prompt
            FROM (SELECT rowid AS added, * FROM runs ORDER BY started_at DESC, rowid DESC LIMIT ?) AS runs
            LEFT JOIN calls ON calls.run = runs.id AND calls.label IS NOT 'warm-up'
            GROUP BY runs.id ORDER BY runs.started_at DESC, runs.added DESC
            """,
            (limit,),
        )
        return [
            RunSummary(
                id=row["id"],
                kind=rows.text(row["kind"]),
                target=rows.text(row["target"]),
                model=rows.text_or_none(row["model"]),
                started_at=rows.text(row["started_at"]),
                command=rows.text(row["command"]),
                calls=row["calls"],
                hit_rate=row["cached"] / row["prompt"] if row["prompt"] else None,
                finished=row["result"] is not None,
            )
            for row in found
        ]

    def result(self, run_id: str) -> RunResult:
        """`run_id` may be shortened. UsageError if there is none, it is ambiguous, or the run was cut off."""
        full_id = self.find(run_id)
        (row,) = self._read("SELECT kind, result FROM runs WHERE id = ?", (full_id,))
        if row["result"] is None:
            raise UsageError(f"run {full_id} was cut off before it had a result; its calls are stored")
        if row["kind"] not in RESULT_TYPES:
            raise UsageError(f"run {full_id} is of kind {row['kind']!r}, whose result cannot be read back here")
        return msgspec.convert(json.loads(row["result"]), type=RESULT_TYPES[row["kind"]])

    def calls(self, run_id: str) -> Iterator[Call]:
        """The calls of a run in the order they were added, each equal to what was added, body byte for byte."""
        full_id = self.find(run_id)
        parts: dict[int, bytes] = {}
        position = 0
        while found := self._read(
            "SELECT * FROM calls WHERE run = ? AND position > ? ORDER BY position LIMIT 100", (full_id, position)
        ):
            for row in found:
                position = row["position"]
                yield rows.to_call(row, self._body(row["body"], parts))

    def delete(self, run_id: str) -> None:
        """Remove a run, its calls, and the parts that no other run uses."""
        full_id = self.find(run_id)
        with self._transaction() as connection:
            connection.execute("DELETE FROM runs WHERE id = ?", (full_id,))
            connection.execute(
                "DELETE FROM parts WHERE id NOT IN "
                "(SELECT piece.value FROM calls, json_each(calls.body) AS piece WHERE piece.type = 'integer')"
            )

    def find(self, run_id: str) -> str:
        """The one id that is or starts with `run_id`. UsageError names the nearest or the last ids."""
        ids = [row["id"] for row in self._read("SELECT id FROM runs ORDER BY started_at DESC, rowid DESC", ())]
        if run_id in ids:
            return run_id
        matches = [known for known in ids if run_id and known.startswith(run_id)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise UsageError(f"run {run_id!r} is not unique: {', '.join(matches[:5])}")
        if not ids:
            raise UsageError(f"no run {run_id!r}: no run is stored in {self.path}")
        near = difflib.get_close_matches(run_id, ids, n=3)
        raise UsageError(f"no run {run_id!r}: {'nearest' if near else 'last'} are {', '.join(near or ids[:3])}")

    def _body(self, recipe: str, parts: dict[int, bytes]) -> bytes:
        pieces: list[int | str] = msgspec.json.decode(recipe)
        missing = sorted({piece for piece in pieces if isinstance(piece, int)} - parts.keys())
        for start in range(0, len(missing), 500):
            some = missing[start : start + 500]
            found = self._read(f"SELECT id, bytes FROM parts WHERE id IN ({_marks(some)})", tuple(some))
            parts.update((row["id"], row["bytes"]) for row in found)
        return b"".join(parts[piece] if isinstance(piece, int) else piece.encode() for piece in pieces)

    def _read(self, query: str, values: tuple[Any, ...]) -> list[sqlite3.Row]:
        try:
            with self._lock:
                return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise _unavailable(self.path, error) from error

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock, _immediate(self._connection):
                yield self._connection
        except sqlite3.Error as error:
            raise _unavailable(self.path, error) from error


@contextlib.contextmanager
def _immediate(connection: sqlite3.Connection) -> Iterator[None]:
    """Take the write lock at once, so that what is read inside is still true when it is written."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _part_ids(connection: sqlite3.Connection, parts: dict[bytes, bytes]) -> dict[bytes, int]:
    """Ids of the parts by hash; those not yet stored are added."""
    ids: dict[bytes, int] = {}
    hashes = list(parts)
    for start in range(0, len(hashes), 500):
        some = hashes[start : start + 500]
        ids.update(
            connection.execute(f"SELECT sha256, id FROM parts WHERE sha256 IN ({_marks(some)})", some).fetchall()
        )
    for digest, data in parts.items():
        if digest not in ids:
            added = connection.execute("INSERT INTO parts (sha256, bytes) VALUES (?, ?)", (digest, data))
            ids[digest] = added.lastrowid  # type: ignore[assignment]
    return ids


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    migrations = _migrations()
    if _version(connection) < len(migrations):
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
    return connection.execute("PRAGMA user_version").fetchone()[0]


def _migrations() -> list[str]:
    """The SQL of each schema step; the first makes schema 1."""
    folder = resources.files("hitrate.logs") / "migrations"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return [file.read_text(encoding="utf-8") for file in files]


def _statements(script: str) -> Iterator[str]:
    """`executescript` would commit before it starts; single statements stay inside the transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _marks(values: list[Any]) -> str:
    return ", ".join("?" * len(values))


def _unavailable(path: Path, error: Exception) -> StoreUnavailable:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return StoreUnavailable(
        f"runs are not stored, {path}: {reason}", hint="point HITRATE_STORE at a file that can be written"
    )
