"""The store of runs: one SQLite file, written while a run goes on, so that a run cut off keeps what was measured.

It opens with plain `sqlite3`; the columns are documented in `migrations/*.sql`. Prompts are in it, so file and folder
are for the user alone. Keys and cookies never are: the client keeps them out, and `add_calls` refuses them again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from hitrate.core.model import Call
from hitrate.core.probe_results import ProbeResult
from hitrate.core.results import SCHEMA_VERSION, BenchResult, TestResult
from hitrate.core.secret_headers import SECRET_HEADERS
from hitrate.errors import UsageError
from hitrate.logs import integrity, recordings, retention, rows
from hitrate.logs.database import Database, StoreUnavailable, default_path
from hitrate.logs.parts import PartReader
from hitrate.logs.recipe_maker import Recipes
from hitrate.logs.recordings import JournalPosition, Recording

__all__ = ["RESULT_TYPES", "RunList", "RunResult", "RunSummary", "Store", "StoreUnavailable", "default_path"]

RunResult = TestResult | BenchResult | ProbeResult
"""What a run can end in."""

RESULT_TYPES: dict[str, type[RunResult]] = {"test": TestResult, "bench": BenchResult, "probe": ProbeResult}

RECORDING = "record"
"""The kind of a run whose calls were recorded on their way to somewhere else. It goes on for as long as it likes and
ends in no result."""

_ID_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
"""Without 0/o and 1/i/l, which people mistake for each other."""


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


class Store:
    """Calls may come from any thread; they are committed before `add_calls` returns."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._recipes = Recipes()

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None = None) -> Store:
        """Open or create. StoreUnavailable if that fails, UsageError if a newer hitrate wrote the file."""
        return cls(Database.open(path))

    @property
    def path(self) -> Path:
        return self._database.path

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin_run(
        self,
        kind: str,
        target: str,
        model: str | None,
        command: str,
        started_at: str,
        *,
        content: recordings.Content = "kept",
    ) -> str:
        """The id of a new run. `content` "hashed": what its calls hold of prompts and replies are keyed hashes."""
        import secrets

        values = tuple(rows.plain(value) for value in (kind, target, model, command, started_at, content))
        with self._database.transaction() as connection:
            while True:
                run_id = "r" + "".join(secrets.choice(_ID_LETTERS) for _ in range(5))
                added = connection.execute(
                    "INSERT INTO runs (id, kind, target, model, command, started_at, content) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
                    (run_id, *values),
                )
                if added.rowcount:
                    if kind == RECORDING:
                        connection.execute("INSERT INTO recordings (run) VALUES (?)", (run_id,))
                    return run_id

    def add_call(self, run_id: str, call: Call) -> None:
        """Append a call and commit. AssertionError if a header that carries a key or a cookie came this far."""
        self.add_calls(run_id, (call,))

    def add_calls(self, run_id: str, calls: Sequence[Call], journal: JournalPosition | None = None) -> None:
        """Append calls in order and commit them, all or none, with how far the journal of a recording is taken in."""
        for call in calls:
            for name in (*call.headers, *call.response_headers):
                if name.lower() in SECRET_HEADERS:
                    raise AssertionError(f"header {name!r} must not reach the store")
        values = [rows.from_call(call) for call in calls]
        try:
            with self._database.transaction() as connection:
                self._recipes.begin(connection)
                (position,) = connection.execute(_LAST_POSITION, {"run": run_id}).fetchone()
                for call, columns in zip(calls, values, strict=True):
                    position += 1
                    body = self._recipes.recipe_of(connection, call.body)
                    columns[-3:] = self._recipes.of_json(connection, *columns[-3:])
                    connection.execute(_INSERT_CALL, (run_id, position, *columns, body))
                if journal is not None:
                    recordings.advance(connection, run_id, journal)
        except BaseException:
            self._recipes.forget()
            raise

    def finish_run(self, run_id: str, result: RunResult) -> None:
        with self._database.transaction() as connection:
            connection.execute("UPDATE runs SET result = ? WHERE id = ?", (rows.json_text(result), run_id))

    def runs(self, limit: int = 20) -> list[RunSummary]:
        """Newest first."""
        found = self._database.read(
            """
            SELECT runs.*,
                   count(calls.position) AS calls,
                   total(cached_tokens) FILTER (WHERE cached_tokens BETWEEN 0 AND prompt_tokens) AS cached,
                   total(prompt_tokens) FILTER (WHERE cached_tokens BETWEEN 0 AND prompt_tokens) AS prompt,
                   (SELECT ended FROM recordings WHERE run = runs.id) AS ended
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
                finished=row["result"] is not None or bool(row["ended"]),
            )
            for row in found
        ]

    def result(self, run_id: str) -> RunResult:
        """`run_id` may be shortened. UsageError if there is none, it is ambiguous, or the run was cut off."""
        full_id = self.find(run_id)
        (row,) = self._database.read("SELECT kind, result FROM runs WHERE id = ?", (full_id,))
        if row["kind"] == RECORDING:
            raise UsageError(f"run {full_id} is a recording, which has calls and no result: hitrate explain {full_id}")
        if row["result"] is None:
            raise UsageError(f"run {full_id} was cut off before it had a result; its calls are stored")
        if row["kind"] not in RESULT_TYPES:
            raise UsageError(f"run {full_id} is of kind {row['kind']!r}, whose result cannot be read back here")
        return msgspec.convert(json.loads(row["result"]), type=RESULT_TYPES[row["kind"]])

    def calls(self, run_id: str, after: int = 0) -> Iterator[Call]:
        """The calls of a run in the order they were added, each equal to what was added, body byte for byte; those
        behind the position `after`."""
        return (call for _, call in self.numbered_calls(run_id, after))

    def numbered_calls(self, run_id: str, after: int = 0) -> Iterator[tuple[int, Call]]:
        """The same with their positions, for who comes back for more."""
        full_id = self.find(run_id)
        parts = PartReader(self._database)
        while found := self._database.read(
            "SELECT * FROM calls WHERE run = ? AND position > ? ORDER BY position LIMIT 100", (full_id, after)
        ):
            for row in found:
                after = row["position"]
                try:
                    call = rows.to_call(
                        row, parts.body_of(row["body"]), *(parts.json_of(row[name]) for name in rows.RECIPES)
                    )
                except KeyError:
                    if self._database.read("SELECT 1 FROM calls WHERE id = ?", (row["id"],)):
                        raise _damaged(self.path, full_id, after) from None
                    continue  # removed since it was read
                yield after, call

    def recording(self, run_id: str) -> Recording | None:
        """What is known of a recording beside its calls; None for any other run."""
        return recordings.read(self._database, self.find(run_id))

    def end_recording(self, run_id: str) -> None:
        """Its journal is taken in and nobody writes it any more."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE recordings SET ended = 1 WHERE run = ?", (run_id,))

    def delete(self, run_id: str) -> None:
        """Remove a run, its calls, and the parts that no other run uses."""
        full_id = self.find(run_id)
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM runs WHERE id = ?", (full_id,))
        retention.sweep(self._database)

    def retire(self, *, older_than: float | None = None, max_bytes: int | None = None) -> retention.Retired:
        """Remove the oldest calls of recordings: those sent before a Unix time, and as many as it takes for the file to
        be no longer than that. Other runs stay. What was removed is noted in `recording(run)`."""
        return retention.retire(self._database, older_than=older_than, max_bytes=max_bytes)

    def check_integrity(self) -> list[str]:
        """What is wrong with the file, one line each: damage that SQLite finds, parts that are missing or whose bytes
        are not what their hash says, calls that cannot be read."""
        return integrity.check_integrity(self._database)

    def find(self, run_id: str) -> str:
        """The one id that is or starts with `run_id`. UsageError names the nearest or the last ids."""
        ids = [row["id"] for row in self._database.read("SELECT id FROM runs ORDER BY started_at DESC, rowid DESC")]
        if run_id in ids:
            return run_id
        matches = [known for known in ids if run_id and known.startswith(run_id)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise UsageError(f"run {run_id!r} is not unique: {', '.join(matches[:5])}")
        if not ids:
            raise UsageError(f"no run {run_id!r}: no run is stored in {self.path}")
        import difflib

        near = difflib.get_close_matches(run_id, ids, n=3)
        raise UsageError(f"no run {run_id!r}: {'nearest' if near else 'last'} are {', '.join(near or ids[:3])}")


def _damaged(path: Path, run_id: str, position: int) -> StoreUnavailable:
    return StoreUnavailable(f"call {position} of run {run_id} cannot be read: parts of it are missing in {path}")


_LAST_POSITION = """
    SELECT max(
        coalesce((SELECT max(position) FROM calls WHERE run = :run), 0),
        coalesce((SELECT retired_calls FROM recordings WHERE run = :run), 0)
    )
"""
"""Positions count on when calls were retired, which are always the first ones."""

_INSERT_CALL = (
    f"INSERT INTO calls (run, position, {', '.join(rows.NAMES)}, body) VALUES (?, ?, {'?, ' * len(rows.NAMES)}?)"
)
