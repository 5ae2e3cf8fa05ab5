"""Takes exchanges out of a journal and puts them into the store as calls, each once, whoever is killed when."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

from hitrate.core.model import Call
from hitrate.logs.recordings import JournalPosition
from hitrate.logs.store import Store
from hitrate.record.exchange import Exchange
from hitrate.record.journal import Gap, segment_numbers, segment_path
from hitrate.record.journal_reader import Damage, Position, has_writer, read_journal
from hitrate.record.reading import call_of

_EXCHANGES_AT_ONCE = 256
_BYTES_AT_ONCE = 4 << 20
"""Of a transaction: what is read twice when the keeper is killed, and what it holds in memory."""


class Keeper:
    """Of one recording. `on_damage` is told what of the journal cannot be read, a line each."""

    def __init__(
        self, folder: Path, store: Store, run_id: str, on_damage: Callable[[str], None] = lambda line: None
    ) -> None:
        """UsageError where the store has no such run."""
        self.folder = folder
        self.run_id = run_id
        self._store = store
        self._on_damage = on_damage
        self._position: Position | None = None

    def drain(self) -> int:
        """Take in what stands in the journal now; how many exchanges. StoreUnavailable when the store cannot be
        written: what was not taken in stays in the journal and comes with the next call."""
        position = self._position or self._stored_position()
        taken = 0
        batch = _Batch()
        for entry, behind in read_journal(self.folder, position):
            batch.add(entry)
            if isinstance(entry, Damage):
                self._on_damage(entry.what)
            position = behind
            if batch.is_full():
                taken += self._commit(batch, position)
                batch = _Batch()
        if not batch.is_empty():
            taken += self._commit(batch, position)
        if taken or self._position is None:
            self._position = position
            self._remove_segments(position.segment)
        return taken

    def finish(self) -> bool:
        """Take in the rest and remove the journal. False, with the journal left, while its writer lives."""
        if has_writer(self.folder):
            return False
        self.drain()
        self._store.end_recording(self.run_id)
        shutil.rmtree(self.folder, ignore_errors=True)
        return True

    def _stored_position(self) -> Position:
        recording = self._store.recording(self.run_id)
        return Position() if recording is None else Position(recording.segment, recording.offset)

    def _commit(self, batch: _Batch, position: Position) -> int:
        self._store.add_calls(self.run_id, batch.calls, batch.progress(position))
        self._position = position
        return batch.exchanges

    def _remove_segments(self, before: int) -> None:
        """What is left of them by a kill at the wrong moment goes the next time. The newest is still written to."""
        with contextlib.suppress(OSError):
            for number in segment_numbers(self.folder):
                if number < before:
                    segment_path(self.folder, number).unlink(missing_ok=True)


class _Batch:
    """What goes into one transaction."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.exchanges = 0
        self._bytes = 0
        self._others = 0
        self._missed = 0
        self._missed_reason: str | None = None
        self._damaged = 0

    def add(self, entry: Exchange | Gap | Damage) -> None:
        if isinstance(entry, Exchange):
            call = call_of(entry)
            self.exchanges += 1
            self._bytes += len(entry.request_body) + len(entry.response_body)
            if call is None:
                self._others += 1
            else:
                self.calls.append(call)
        elif isinstance(entry, Gap):
            self._missed += entry.exchanges
            self._missed_reason = entry.reason
        else:
            self._damaged += 0 if entry.torn else 1

    def is_full(self) -> bool:
        return self.exchanges >= _EXCHANGES_AT_ONCE or self._bytes >= _BYTES_AT_ONCE

    def is_empty(self) -> bool:
        return not (self.exchanges or self._missed or self._damaged)

    def progress(self, position: Position) -> JournalPosition:
        return JournalPosition(
            position.segment, position.offset, self._others, self._missed, self._missed_reason, self._damaged
        )
