"""Takes exchanges out of a journal and puts them into the store as calls, each once, whoever is killed when."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from hitrate.core.model import Call
from hitrate.errors import HitrateError
from hitrate.logs.recordings import JournalPosition
from hitrate.logs.rows import from_call
from hitrate.logs.store import Store, StoreUnavailable
from hitrate.record.exchange import Exchange
from hitrate.record.journal import Gap, segment_numbers, segment_path
from hitrate.record.journal_reader import Entry, Position, has_writer, read_journal
from hitrate.record.reading import call_of
from hitrate.record.writer_lock import WriterLock

KEEPER_LOCK = "keeper.lock"

_EXCHANGES_AT_ONCE = 128
_BYTES_AT_ONCE = 2 << 20
"""Of a transaction: what is read twice when the keeper is killed, and what it holds in memory."""


class AlreadyKept(HitrateError):
    """Another process takes in this journal."""


class Keeper:
    """Of one recording; one at a time. `say` is told what of the journal cannot be read, a line each. `between` is
    called between two exchanges."""

    def __init__(
        self,
        folder: Path,
        store: Store,
        run_id: str,
        say: Callable[[str], None] = lambda line: None,
        *,
        between: Callable[[], None] = lambda: None,
    ) -> None:
        """AlreadyKept, or UsageError where the store has no such run."""
        self.folder = folder
        self.run_id = store.find(run_id)
        self._store = store
        self._say = say
        self._between = between
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = WriterLock.take(folder / KEEPER_LOCK)
        if self._lock is None:
            raise AlreadyKept(f"{folder} is taken in by another process")
        recording = store.recording(self.run_id)
        self._position = Position() if recording is None else Position(recording.segment, recording.offset)
        self._remove_segments()

    def close(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def drain(self) -> int:
        """Take in what stands in the journal now; how many exchanges. StoreUnavailable when the store cannot be
        written: what was not taken in stays in the journal and comes with the next call. UsageError when the run was
        deleted."""
        taken = 0
        batch = _Batch(self._say)
        for entry, behind in read_journal(self.folder, self._position):
            batch.add(entry, behind)
            self._between()
            if batch.is_full():
                taken += self._commit(batch)
                batch = _Batch(self._say)
        if not batch.is_empty():
            taken += self._commit(batch)
        return taken

    def finish(self) -> bool:
        """Take in the rest and remove the journal. False, with nothing done, while its writer lives."""
        if has_writer(self.folder):
            return False
        self.drain()
        self._store.end_recording(self.run_id)
        self.close()
        import shutil

        shutil.rmtree(self.folder, ignore_errors=True)
        return True

    def _commit(self, batch: _Batch) -> int:
        try:
            self._store.add_calls(self.run_id, batch.calls, batch.progress())
        except StoreUnavailable:
            self._store.find(self.run_id)  # says so if that is why
            raise
        except Exception as error:  # one that cannot be stored must not keep the others from it
            self._say(f"a call cannot be stored as it is ({type(error).__name__}: {error})")
            self._store.add_calls(self.run_id, [_storable(call) for call in batch.calls], batch.progress())
        segment_before, self._position = self._position.segment, batch.position
        if self._position.segment != segment_before:
            self._remove_segments()
        return batch.exchanges

    def _remove_segments(self) -> None:
        """Those that are taken in. What is left by a kill at the wrong moment goes the next time."""
        with contextlib.suppress(OSError):
            for number in segment_numbers(self.folder):
                if number < self._position.segment:
                    segment_path(self.folder, number).unlink(missing_ok=True)


def _storable(call: Call) -> Call:
    """The call, or what is left of it when it has no form in the store."""
    try:
        from_call(call)
    except Exception as error:
        return Call(
            target=call.target,
            dialect=call.dialect,
            body=call.body,
            session=call.session,
            status=call.status,
            error=f"its reply cannot be stored ({type(error).__name__})",
        )
    return call


class _Batch:
    """What goes into one transaction."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.calls: list[Call] = []
        self.exchanges = 0
        self.position = Position()
        self._say = say
        self._bytes = 0
        self._others = 0
        self._missed = 0
        self._missed_reason: str | None = None
        self._damaged = 0

    def add(self, entry: Entry, behind: Position) -> None:
        self.position = behind
        if isinstance(entry, Exchange):
            self.exchanges += 1
            self._bytes += len(entry.request_body) + len(entry.response_body)
            call = call_of(entry)
            if call is None:
                self._others += 1
            else:
                self.calls.append(call)
        elif isinstance(entry, Gap):
            self._missed += entry.exchanges
            self._missed_reason = entry.reason
        else:
            self._say(entry.what)
            self._damaged += not entry.torn

    def is_full(self) -> bool:
        return self.exchanges >= _EXCHANGES_AT_ONCE or self._bytes >= _BYTES_AT_ONCE

    def is_empty(self) -> bool:
        return not (self.exchanges or self._missed or self._damaged)

    def progress(self) -> JournalPosition:
        return JournalPosition(
            self.position.segment,
            self.position.offset,
            self._others,
            self._missed,
            self._missed_reason,
            self._damaged,
        )
